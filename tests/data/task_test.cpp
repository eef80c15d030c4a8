#include "data/task.h"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "data/countdown.h"

namespace minirl::data {
namespace {

constexpr std::uint64_t kSeed = 20240607;

std::string boxed(
    const std::string& text) {  // the content of a closed last box, for texts without braces inside
  const auto at = text.rfind("\\boxed{");
  if (at == std::string::npos) {
    return "";
  }
  const auto end = text.find('}', at);
  return end == std::string::npos ? "" : text.substr(at + 7, end - at - 7);
}

bool is_right(const std::string& task, const Example& e, const std::string& answer) {
  if (task == "countdown") {
    return check_countdown(parse_countdown_answer(e.answer), answer).right;
  }
  return answer == e.answer;
}

// A number that the reader of a prompt "a op b=?" would compute.
Index value_of(const std::string& prompt) {
  const auto at = prompt.find_first_of("+-*");
  const Index a = std::stoll(prompt.substr(0, at));
  const Index b = std::stoll(prompt.substr(at + 1));
  return prompt[at] == '+' ? a + b : prompt[at] == '-' ? a - b : a * b;
}

// Two prompts that ask the same thing have one name: numbers sorted, except around '-'.
std::string meaning(const std::string& task, const Example& e) {
  if (task == "countdown") {
    auto goal = parse_countdown_answer(e.answer);
    std::sort(goal.numbers.begin(), goal.numbers.end());
    return countdown_answer(goal);
  }
  const auto at = e.prompt.find_first_of("+-*");
  Index a = std::stoll(e.prompt.substr(0, at));
  Index b = std::stoll(e.prompt.substr(at + 1));
  if (e.prompt[at] != '-' && a > b) {
    std::swap(a, b);
  }
  return fmt::format("{}{}{}", a, e.prompt[at], b);
}

ParamMap all_operations() {
  return {{"operations", {std::string("+-*")}}};
}

// Those that make their problems up; tasks of files are tested in dataset_test.cpp.
std::vector<std::string> made_up_tasks() {
  std::vector<std::string> out;
  for (const auto& name : Tasks::names()) {
    if (!Tasks::find("task", name).reward.empty()) {
      out.push_back(name);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("data/task: examples are pure functions of seed and index") {
  for (const auto& name : made_up_tasks()) {
    CAPTURE(name);
    const auto task = make_task(name);
    const auto again = make_task(name);
    std::set<std::string> prompts;
    int differs = 0;
    for (Index i = 0; i < 200; ++i) {
      const Example a = task->train_example(kSeed, i);
      const Example b = again->train_example(kSeed, i);
      CHECK(a.prompt == b.prompt);
      CHECK(a.answer == b.answer);
      CHECK(a.id == b.id);
      CHECK(task->supervised_example(kSeed, i).completion ==
            again->supervised_example(kSeed, i).completion);
      differs += a.prompt != task->train_example(kSeed + 1, i).prompt ? 1 : 0;
      prompts.insert(a.prompt);
    }
    CHECK(differs > 150);
    CHECK(prompts.size() > 150);
  }
}

TEST_CASE("data/task: no held-out problem is ever trained on, in any order of its numbers") {
  for (const auto& name : made_up_tasks()) {
    CAPTURE(name);
    const auto task = make_task(name, name == "arithmetic" ? all_operations() : ParamMap{});
    std::set<std::string> held;
    std::set<std::string> prompts;
    for (const auto& e : task->eval_examples(300)) {
      held.insert(meaning(name, e));
      CHECK(prompts.insert(e.prompt).second);
    }
    Index common = 0;
    for (Index i = 0; i < 20000; ++i) {
      common += static_cast<Index>(held.count(meaning(name, task->train_example(kSeed, i))));
      common +=
          static_cast<Index>(held.count(meaning(name, task->supervised_example(kSeed, i).example)));
    }
    CHECK(common == 0);
  }
}

TEST_CASE(
    "data/task: the held-out set is a prefix of one list and does not depend on how much is asked "
    "for") {
  for (const auto& name : made_up_tasks()) {
    const auto task = make_task(name);
    const auto few = task->eval_examples(10);
    const auto many = task->eval_examples(50);
    for (std::size_t i = 0; i < few.size(); ++i) {
      CHECK(few[i].prompt == many[i].prompt);
    }
    CHECK_THROWS_AS(task->eval_examples(100000000), Error);
  }
}

TEST_CASE("data/task: about one problem in eight is held out") {
  int held = 0;
  for (std::uint64_t i = 0; i < 80000; ++i) {
    held += held_out(i) ? 1 : 0;
  }
  CHECK(held > 9500);
  CHECK(held < 10500);
}

TEST_CASE("data/task: good answers are right and boxed, all others are not") {
  for (const auto& name : made_up_tasks()) {
    CAPTURE(name);
    const auto task = make_task(name, name == "arithmetic" ? all_operations() : ParamMap{});
    std::map<Quality, int> seen;
    for (Index i = 0; i < 5000; ++i) {
      const SupervisedExample s = task->supervised_example(kSeed, i);
      ++seen[s.quality];
      const std::string answer = boxed(s.completion);
      const bool right = !answer.empty() && is_right(name, s.example, answer);
      CHECK_MESSAGE(right == (s.quality == Quality::good), s.example.prompt << s.completion);
      if (s.quality == Quality::unboxed) {
        CHECK(s.completion.find("boxed") == std::string::npos);
        CHECK(is_right(name, s.example, s.completion.substr(s.completion.rfind("so ") + 3)));
      }
      if (s.quality == Quality::good) {
        CHECK(static_cast<Index>(s.completion.size()) <= task->completion_bytes_max());
      }
      CHECK(static_cast<Index>(s.example.prompt.size()) <= task->prompt_bytes_max());
      if (name == "arithmetic") {
        CHECK(std::to_string(value_of(s.example.prompt)) == s.example.answer);
      }
    }
    for (const Quality q : {Quality::good, Quality::unboxed, Quality::wrong, Quality::malformed}) {
      CHECK(seen[q] > 400);
    }
  }
}

TEST_CASE("data/task: the mixture follows its fractions") {
  const auto task = make_task(
      "arithmetic",
      {{"fraction_unboxed", {0.0}}, {"fraction_wrong", {0.0}}, {"fraction_malformed", {0.25}}});
  int good = 0;
  for (Index i = 0; i < 4000; ++i) {
    const Quality q = task->supervised_example(kSeed, i).quality;
    CHECK((q == Quality::good || q == Quality::malformed));
    good += q == Quality::good ? 1 : 0;
  }
  CHECK(good > 2880);
  CHECK(good < 3120);
  CHECK_THROWS_AS(make_task("arithmetic", {{"fraction_unboxed", {0.7}}, {"fraction_wrong", {0.7}}}),
                  Error);
}

TEST_CASE("data/task: arithmetic shows every column, its carries and its borrows") {
  const auto find = [](const char* op, const std::string& prompt) {
    const auto task = make_task("arithmetic", {{"operations", {std::string(op)}},
                                               {"fraction_unboxed", {0.0}},
                                               {"fraction_wrong", {0.0}},
                                               {"fraction_malformed", {0.0}}});
    for (Index i = 0; i < 400000; ++i) {
      const auto s = task->supervised_example(kSeed, i);
      if (s.example.prompt == prompt) {
        return s.completion;
      }
    }
    return std::string("never drawn");
  };
  CHECK(find("+", "37+48=?\n") == "7+8=15, 3+4+1=8, so \\boxed{85}");
  CHECK(find("+", "99+8=?\n") == "9+8=17, 9+0+1=10, so \\boxed{107}");
  CHECK(find("-", "52-37=?\n") == "12-7=5, 5-3-1=1, so \\boxed{15}");
  CHECK(find("-", "40-38=?\n") == "10-8=2, 4-3-1=0, so \\boxed{2}");
  CHECK(find("*", "7*48=?\n") == "7*8=56, 7*4+5=33, so \\boxed{336}");
}

TEST_CASE("data/task: unknown tasks and parameters are the user's errors") {
  CHECK_THROWS_WITH_AS(make_task("arithmetics"),
                       "unknown task 'arithmetics'\n  hint: did you mean 'arithmetic'? known: "
                       "arithmetic, countdown, jsonl, parquet",
                       Error);
  CHECK_THROWS_AS(make_task("arithmetic", {{"operations", {std::string("+/")}}}), Error);
  CHECK_THROWS_AS(make_task("arithmetic", {{"operations", {std::string("++")}}}), Error);
  CHECK_THROWS_AS(make_task("arithmetic", {{"operations", {std::string("")}}}), Error);
  CHECK_THROWS_AS(make_task("arithmetic", {{"max_operand", {std::int64_t{5}}}}), Error);
  CHECK_THROWS_AS(make_task("arithmetic", {{"numbers", {std::int64_t{5}}}}), Error);
}

}  // namespace minirl::data
