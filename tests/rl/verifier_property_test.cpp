// Equality of answers is reflexive, symmetric, and respects the value, on generated and on GSM8K
// answers.
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rl/reward.h"
#include "rl/verifier/verify.h"

namespace minirl::rl::verifier {
namespace {

/// A small generator of our own: the same sequence on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  int below(int n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

std::string expression(Dice& dice, int depth) {
  if (depth == 0 || dice.below(4) == 0) {
    switch (dice.below(6)) {
      case 0:
        return "x";
      case 1:
        return "\\pi";
      case 2:
        return fmt::format("\\sqrt{{{}}}", dice.below(9) + 1);
      case 3:
        return fmt::format("{}.{}", dice.below(9), dice.below(90) + 10);
      default:
        return std::to_string(dice.below(20) + 1);
    }
  }
  const std::string a = expression(dice, depth - 1);
  const std::string b = expression(dice, depth - 1);
  switch (dice.below(6)) {
    case 0:
      return fmt::format("({})+({})", a, b);
    case 1:
      return fmt::format("({})-({})", a, b);
    case 2:
      return fmt::format("\\frac{{{}}}{{{}}}", a, b);
    case 3:
      return fmt::format("({})^{{{}}}", a, dice.below(3) + 1);
    case 4:
      return fmt::format("\\left({}\\right)\\cdot\\left({}\\right)", a, b);
    default:
      return fmt::format("\\sin({})", a);
  }
}

std::string answer(Dice& dice) {
  const std::string a = expression(dice, 2);
  switch (dice.below(10)) {
    case 0:
      return fmt::format("({},{})", a, expression(dice, 1));
    case 1:
      return fmt::format("\\{{{},{}\\}}", a, expression(dice, 1));
    case 2:
      return fmt::format("x={}", dice.below(9));
    case 3:
      return fmt::format("[{},{})", dice.below(5), dice.below(5) + 5);
    case 4:
      return fmt::format("x<{}", dice.below(9));
    case 5:
      return fmt::format("{}\\text{{ cm}}", dice.below(9));
    case 6:
      return fmt::format("\\pm {}", dice.below(9));
    case 7:
      return fmt::format("{}\\%", dice.below(100));
    default:
      return a;
  }
}

}  // namespace

TEST_CASE("rl/verifier: equality is reflexive and symmetric") {
  Dice dice(20);
  std::vector<std::string> answers;
  for (int i = 0; i < 150; ++i) {
    answers.push_back(answer(dice));
  }
  int equal = 0;
  for (const auto& a : answers) {
    const Outcome self = compare(a, a).outcome;
    CHECK_MESSAGE((self == Outcome::right || !gold_fault(a).empty()),
                  a << ": " << compare(a, a).why);
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (std::size_t j = i + 1; j < i + 25; ++j) {
      const auto& b = answers[j % answers.size()];
      const Verdict forth = compare(answers[i], b);
      const Verdict back = compare(b, answers[i]);
      CHECK_MESSAGE((forth.outcome == Outcome::right) == (back.outcome == Outcome::right),
                    answers[i] << "  and  " << b << ": " << forth.why << " / " << back.why);
      equal += forth.outcome == Outcome::right ? 1 : 0;
    }
  }
  CHECK(equal > 0);
}

TEST_CASE(
    "rl/verifier: rewriting that keeps the value keeps the verdict, one that changes it does not") {
  Dice dice(7);
  for (int i = 0; i < 200; ++i) {
    const std::string a = expression(dice, 2);
    CAPTURE(a);
    if (!gold_fault(a).empty()) {
      continue;
    }
    CHECK(compare(a, "(" + a + ")").outcome == Outcome::right);
    CHECK(compare(a, "1+(" + a + ")-1").outcome == Outcome::right);
    CHECK(compare(a, "\\frac{3(" + a + ")}{3}").outcome == Outcome::right);
    CHECK(compare(a, "(" + a + ")+1").outcome != Outcome::right);
    CHECK(compare(a, "(" + a + ")+10^{-40}").outcome != Outcome::right);
  }
}

TEST_CASE(
    "rl/verifier: GSM8K golds all parse, equal themselves and differ from every other value") {
  const std::filesystem::path file =
      std::string(MINIRL_SOURCE_DIR) + "/../shared/data/gsm8k_test.jsonl";
  if (!std::filesystem::exists(file)) {
    MESSAGE("SKIP: no GSM8K file on this machine");
    return;
  }
  std::ifstream in(file);
  std::map<long long, std::string> golds;  // by value, one spelling each
  int rows = 0;
  const auto& hashes = Rewards::find("reward", "math_hashes");
  for (std::string line; std::getline(in, line); ++rows) {
    const std::string text = nlohmann::json::parse(line).at("answer");
    std::string gold = text.substr(text.rfind("####") + 4);
    while (!gold.empty() && gold.front() == ' ') {
      gold.erase(0, 1);
    }
    CHECK_MESSAGE(gold_fault(gold).empty(), gold);
    CHECK(compare(gold, gold).outcome == Outcome::right);
    CHECK(hashes.score(gold, text).score == 1);
    std::string digits;
    for (const char c : gold) {
      if (c != ',') {
        digits += c;
      }
    }
    const long long value = std::stoll(digits);
    CHECK(compare(gold, digits).outcome == Outcome::right);
    golds.emplace(value, gold);
  }
  CHECK(rows == 1319);
  int wrong = 0;
  for (const auto& [x, a] : golds) {
    for (const auto& [y, b] : golds) {
      wrong += x != y && compare(a, b).outcome != Outcome::wrong ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace minirl::rl::verifier
