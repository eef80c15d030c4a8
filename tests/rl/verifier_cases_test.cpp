// The development half of the collected answers, and the same kinds in our own words.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "rl/reward.h"
#include "rl/verifier/verify.h"

namespace minirl::rl::verifier {
namespace {

bool right(const char* gold, const char* answer) {
  return compare(gold, answer).outcome == Outcome::right;
}

}  // namespace

TEST_CASE("rl/verifier: every collected case gets the verdict of the house rules") {
  const std::filesystem::path file =
      std::string(MINIRL_SOURCE_DIR) + "/../shared/cases/math_answers.dev.jsonl";
  if (!std::filesystem::exists(file)) {
    MESSAGE("SKIP: no collected cases on this machine");
    return;
  }
  std::ifstream in(file);
  int cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    const auto j = nlohmann::json::parse(line);
    const std::string id = j.at("id");
    const std::string kind = id.substr(3, id.rfind('-') - 3);
    const std::string gold = j.at("gold");
    const std::string completion = j.at("completion");
    const auto verdict =
        verify(gold, completion, kind == "line" ? Extraction::answer_line : Extraction::boxed);
    const bool ok = (verdict.outcome == Outcome::right) == j.at("expect").get<bool>();
    CHECK_MESSAGE(ok, id << ": " << verdict.why);
  }
  CHECK(cases > 200);
}

TEST_CASE("rl/verifier: every variant of the collected classes gets its verdict") {
  std::ifstream in(std::string(MINIRL_SOURCE_DIR) + "/tests/cases/math_variants.jsonl");
  int cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    const auto j = nlohmann::json::parse(line);
    const std::string id = j.at("id");
    const std::string gold = j.at("gold");
    const bool on_line = id.starts_with("mv-line");
    const auto verdict = verify(gold, j.at("completion").get<std::string>(),
                                on_line ? Extraction::answer_line : Extraction::boxed);
    CHECK_MESSAGE(
        (verdict.outcome == Outcome::right) == j.at("expect").get<bool>(),
        id << ": " << verdict.why << " | " << verdict.gold_tree << " | " << verdict.answer_tree);
    if (j.at("expect").get<bool>()) {
      CHECK_MESSAGE(gold_fault(gold).empty(), id << ": " << gold_fault(gold));
    }
  }
  CHECK(cases > 2500);
}

TEST_CASE("rl/verifier: equal values are equal in every spelling") {
  const char* const pairs[][2] = {
#include "rl/verifier_equal.inc"
  };
  for (const auto& p : pairs) {
    CHECK_MESSAGE(right(p[0], p[1]), std::string(p[0]) << "  ==  " << std::string(p[1]) << ": "
                                                       << compare(p[0], p[1]).why << " | "
                                                       << compare(p[0], p[1]).gold_tree << " | "
                                                       << compare(p[0], p[1]).answer_tree);
    CHECK_MESSAGE(right(p[1], p[0]), std::string(p[1]) << "  ==  " << std::string(p[0]));
  }
}

TEST_CASE("rl/verifier: what is near is not equal") {
  const char* const pairs[][2] = {
#include "rl/verifier_different.inc"
  };
  for (const auto& p : pairs) {
    CHECK_MESSAGE(!right(p[0], p[1]), std::string(p[0]) << "  !=  " << std::string(p[1]) << ": "
                                                        << compare(p[0], p[1]).why);
    CHECK_MESSAGE(!right(p[1], p[0]), std::string(p[1]) << "  !=  " << std::string(p[0]));
  }
}

TEST_CASE("rl/verifier: a gold answer that cannot be scored is reported, never paid") {
  const RewardInfo& reward = Rewards::find("reward", "math");
  for (const char* gold :
       {"", " ", "\\boxed", "\\frac{1}{", "\\text{}", "?", "\\int_0^1 x\\,dx", "1/0"}) {
    CAPTURE(gold);
    CHECK_FALSE(reward.check_gold(gold).empty());
  }
  CHECK_FALSE(reward.check_gold(std::string_view("5\0", 2)).empty());
  CHECK(reward.score("", "\\boxed{}").score == 0);
  for (const char* gold : {"5", "\\frac{1}{2}", "\\text{Evelyn}", "C", "x=5", "(0,1]", "\\{1,2\\}",
                           "x^2+1", "\\begin{pmatrix}1\\\\2\\end{pmatrix}", "90^\\circ", "204_5"}) {
    CAPTURE(gold);
    CHECK(reward.check_gold(gold) == "");
  }
}

TEST_CASE("rl/verifier: the place of the answer is a named setting") {
  CHECK(Rewards::find("reward", "math").score("13", "Answer: 13").score == 0);
  CHECK(Rewards::find("reward", "math_answer_line").score("13", "Answer: 13").score == 1);
  CHECK(Rewards::find("reward", "math_answer_line").score("13", "so \\boxed{13}").score == 1);
  CHECK(Rewards::find("reward", "math_hashes").score("1234", "so\n#### 1,234").score == 1);
  CHECK(Rewards::find("reward", "math_hashes").score("1234", "so \\boxed{1234}").score == 0);
  CHECK(Rewards::find("reward", "math_last_number").score("-7", "I get 3 and then -7.").score == 1);
  CHECK(Rewards::find("reward", "math").score("8", "<think>\\boxed{8}").answered == false);
}

}  // namespace minirl::rl::verifier
