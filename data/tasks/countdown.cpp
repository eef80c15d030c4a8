// minirl data/tasks/countdown.cpp -- reach a number with given numbers:
//   3 5 8 -> 64?   ->   3+5=8, 8*8=64, so \boxed{(3+5)*8}
#include "data/countdown.h"

#include <algorithm>
#include <set>

#include "core/rng.h"
#include "data/task.h"

namespace minirl::data {
namespace {

constexpr Index kLargestIntermediate = 999;
constexpr Index kRepeatsUntilExhausted = 5000;  // draws without a new held-out problem

// A value on the table, how it is written, and the operation that joined it last (' ' = a given
// number).
struct Term {
  Index value;
  std::string text;
  char op = ' ';
};

std::string wrapped(const Term& t, bool parentheses) {
  return parentheses ? "(" + t.text + ")" : t.text;
}

// `a op b` with as few parentheses as the usual precedence allows.
Term join(const Term& a, char op, const Term& b, Index value) {
  const auto sum = [](const Term& t) { return t.op == '+' || t.op == '-'; };
  const auto product = [](const Term& t) { return t.op == '*' || t.op == '/'; };
  const bool tight = op == '*' || op == '/';
  const std::string left = wrapped(a, tight && sum(a));
  const std::string right = wrapped(b, (op != '+' && sum(b)) || (op == '/' && product(b)));
  return {value, left + op + right, op};
}

struct Solved {
  CountdownGoal goal;
  std::string steps, expression;
};

// The value of a op b if it is a positive whole number of moderate size, else 0.
Index apply(Index a, char op, Index b) {
  Index v = 0;
  switch (op) {
    case '+':
      v = a + b;
      break;
    case '-':
      v = a - b;
      break;
    case '*':
      v = a * b;
      break;
    default:
      v = b != 0 && a % b == 0 ? a / b : 0;
  }
  return v > 0 && v <= kLargestIntermediate ? v : 0;
}

// Joins all numbers by random operations, left over right; the result is the target.
Solved random_path(const std::vector<Index>& numbers, rng::Random& random) {
  Solved out;
  out.goal.numbers = numbers;
  std::vector<Term> table;
  for (const Index n : numbers) {
    table.push_back({n, std::to_string(n), ' '});
  }
  while (table.size() > 1) {
    const std::size_t i = random.below(table.size());
    std::size_t j = random.below(table.size() - 1);
    j += j >= i ? 1 : 0;
    const char op = "+-*/"[random.below(4)];
    const Index value = apply(table[i].value, op, table[j].value);
    if (value == 0) {
      continue;
    }  // some operation always goes: a - b where they differ, a / b where they do not
    out.steps += fmt::format("{}{}{}={}, ", table[i].value, op, table[j].value, value);
    table[i] = join(table[i], op, table[j], value);
    table.erase(table.begin() + static_cast<std::ptrdiff_t>(j));
  }
  out.goal.target = table.front().value;
  out.expression = table.front().text;
  return out;
}

class Countdown final : public Task {
 public:
  explicit Countdown(const ParamMap& params)
      : count_(integer_param(params, "numbers")),
        max_(integer_param(params, "max_number")),
        target_max_(integer_param(params, "max_target")),
        mixture_(Mixture::of(params)) {}

  Example train_example(std::uint64_t seed, Index index) const override {
    rng::Random random(
        rng::Key::of(seed, rng::Stream::data).derive(static_cast<std::uint64_t>(index)));
    return example(draw(random, false).goal);
  }

  SupervisedExample supervised_example(std::uint64_t seed, Index index) const override {
    rng::Random random(
        rng::Key::of(seed, rng::Stream::supervised).derive(static_cast<std::uint64_t>(index)));
    const Solved solved = draw(random, false);
    SupervisedExample out;
    out.example = example(solved.goal);
    out.quality = mixture_.pick(random.uniform());
    out.completion = completion(solved, out.quality, random);
    return out;
  }

  std::vector<Example> eval_examples(Index n) const override {
    std::vector<Example> out;
    std::set<std::uint64_t> seen;
    const rng::Key key = rng::Key::of(0, rng::Stream::evaluation_data);
    Index repeats = 0;
    for (Index i = 0; static_cast<Index>(out.size()) < n; ++i) {
      rng::Random random(key.derive(static_cast<std::uint64_t>(i), 1));
      const Solved solved = draw(random, true);
      if (seen.insert(identity(solved.goal)).second) {
        out.push_back(example(solved.goal));
        repeats = 0;
      } else if (++repeats == kRepeatsUntilExhausted) {
        fail(Exit::usage,
             fmt::format(
                 "{} problems were asked for, but the task countdown holds out only about {}", n,
                 out.size()),
             "lower eval.prompts or raise task.max_number or task.numbers");
      }
    }
    return out;
  }

  Index prompt_bytes_max() const override {
    return count_ * (width(max_) + 1) + 3 + width(target_max_) + 2;
  }
  Index completion_bytes_max() const override {
    const Index w = width(kLargestIntermediate);
    return (count_ - 1) * (3 * w + 4) + 11 + count_ * (width(max_) + 3);
  }

 private:
  static Index width(Index n) { return static_cast<Index>(std::to_string(n).size()); }

  // The numbers in ascending order and the target: whatever order the prompt shows them in.
  static std::uint64_t identity(const CountdownGoal& goal) {
    std::vector<Index> sorted = goal.numbers;
    std::sort(sorted.begin(), sorted.end());
    rng::Key key{0, static_cast<std::uint32_t>(goal.target)};
    for (const Index n : sorted) {
      key = key.derive(static_cast<std::uint64_t>(n));
    }
    return static_cast<std::uint64_t>(key.k0) << 32 | key.k1;
  }

  Solved draw(rng::Random& random, bool for_evaluation) const {
    while (true) {
      std::vector<Index> numbers;
      for (Index i = 0; i < count_; ++i) {
        numbers.push_back(random.range(1, max_));
      }
      Solved solved = random_path(numbers, random);
      // A target that is among the numbers would need no work.
      const bool given =
          std::find(numbers.begin(), numbers.end(), solved.goal.target) != numbers.end();
      if (!given && solved.goal.target <= target_max_ &&
          held_out(identity(solved.goal)) == for_evaluation) {
        return solved;
      }
    }
  }

  static Example example(const CountdownGoal& goal) {
    std::string prompt;
    for (const Index n : goal.numbers) {
      prompt += fmt::format("{} ", n);
    }
    return {static_cast<Index>(identity(goal) >> 1), prompt + fmt::format("-> {}?\n", goal.target),
            countdown_answer(goal)};
  }

  static std::string completion(const Solved& solved, Quality quality, rng::Random& random) {
    switch (quality) {
      case Quality::good:
        return fmt::format("{}so \\boxed{{{}}}", solved.steps, solved.expression);
      case Quality::unboxed:
        return fmt::format("{}so {}", solved.steps, solved.expression);
      case Quality::wrong:
        while (true) {  // a path of the same numbers that ends elsewhere
          const Solved other = random_path(solved.goal.numbers, random);
          if (other.goal.target != solved.goal.target) {
            return fmt::format("{}so \\boxed{{{}}}", random.below(2) == 0 ? other.steps : "maybe ",
                               other.expression);
          }
        }
      case Quality::malformed:
        break;
    }
    switch (random.below(3)) {
      case 0:
        return fmt::format("{}so \\boxed{{{}", solved.steps, solved.expression);  // never closes
      case 1:
        return fmt::format("{}so \\boxed{{{}}}", solved.steps, solved.goal.target);
      default:
        return fmt::format("{}hmm, {}hmm", solved.steps, solved.steps);
    }
  }

  Index count_, max_, target_max_;
  Mixture mixture_;
};

std::vector<ParamSpec> params() {
  std::vector<ParamSpec> out = {{.name = "numbers",
                                 .type = ScalarType::integer,
                                 .doc = "how many numbers are given",
                                 .fallback = std::int64_t{3},
                                 .range = between(2, 6)},
                                {.name = "max_number",
                                 .type = ScalarType::integer,
                                 .doc = "largest given number",
                                 .fallback = std::int64_t{12},
                                 .range = between(4, 99)},
                                {.name = "max_target",
                                 .type = ScalarType::integer,
                                 .doc = "largest number to reach",
                                 .fallback = std::int64_t{99},
                                 .range = between(10, 999)}};
  for (auto& p : mixture_params(0.25, 0.25, 0.15)) {
    out.push_back(std::move(p));
  }
  return out;
}

const bool registered = Tasks::add(
    "countdown", {"reach a number with given numbers, + - * / and parentheses", "countdown",
                  params(), [](const ParamMap& p) { return std::make_unique<Countdown>(p); }});

}  // namespace
}  // namespace minirl::data
