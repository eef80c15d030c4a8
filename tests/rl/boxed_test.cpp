#include <doctest/doctest.h>

#include "rl/reward.h"
#include "rl/rewards/answer.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

RewardResult boxed(std::string_view gold, std::string_view completion) {
  return Rewards::find("reward", "boxed").score(gold, completion);
}
bool right(std::string_view gold, std::string_view completion) {
  return boxed(gold, completion).score == 1;
}

}  // namespace

TEST_CASE("rl/boxed: the last box is the answer, braces nest") {
  CHECK(right("34", "so \\boxed{34}"));
  CHECK(right("2", "first \\boxed{1} then \\boxed{2}"));
  CHECK_FALSE(right("2", "first \\boxed{2} then \\boxed{1}"));
  CHECK(right("\\frac{1}{3}", "\\boxed{\\frac{1}{3}}"));
  CHECK(right("\\{1,2\\}", "$\\boxed{\\{1,2\\}}$"));
  CHECK(right("7", "\\boxed{\\boxed{7}}"));
  CHECK(right("42", "\\boxed{{{{{42}}}}}"));
  CHECK(right("5", "\\boxed\n{5}"));
  CHECK(right("7", "The result is \\boxed{7}, marked with \\boxed as the task demands."));
  CHECK(right("42", "I thought \\boxed{41}, the correct total is \\fbox{42}."));
  CHECK(boxed("34", "so \\boxed{34}").extracted == "34");
  CHECK(right("-5", "\\boxed -5"));
  CHECK_FALSE(right("2", "\\boxed{3+\\boxed{2}}"));
  CHECK(right("6", "\\boxed{6} \\phantom{\\boxed{5}}"));
}

TEST_CASE("rl/boxed: nothing to read is no answer and earns nothing") {
  for (const char* text : {"", "The total is 5.", "\\boxed{5", "\\boxed{", "\\boxed", "\\boxed{5]",
                           "earlier \\boxed{5} later \\boxed{5", "\\Box{5}"}) {
    CAPTURE(text);
    const RewardResult r = boxed("5", text);
    CHECK(r.score == 0);
    CHECK_FALSE(r.answered);
    CHECK_FALSE(r.why.empty());
  }
  for (const char* text : {"\\boxed{}", "\\boxed{ }", "\\boxed{\\text{}}",
                           "The sum is \\boxed{5}. As told, I put it within \\boxed{}."}) {
    CAPTURE(text);
    CHECK(boxed("5", text).score == 0);
    CHECK_FALSE(boxed("5", text).answered);
  }
  CHECK(boxed("", "\\boxed{}").score == 0);
  CHECK(boxed("5", "\\boxed{6}").answered);
}

TEST_CASE("rl/boxed: only what follows the thinking counts") {
  CHECK_FALSE(right("8", "<think>so \\boxed{8}</think>\nI have finished."));
  CHECK_FALSE(right("8", "<think>so \\boxed{8}"));
  CHECK_FALSE(right("8", "<think>a</think> \\boxed{8} <think>and on"));
  CHECK(right("8", "Two plus six.\n</think>\n\nThe sum is \\boxed{8}."));
  CHECK(right("8",
              "<think>t</think>\nThe answer is \\boxed{8}. (The tag </think> closed my notes.)"));
  CHECK(right("8", "<THINK>\\boxed{3}</THINK>\n\\boxed{8}"));
  CHECK(right("8", "<think>a</think><think>b</think>\\boxed{8}"));
}

TEST_CASE(
    "rl/boxed: boxes joined by a comma or a word are one answer, boxes apart correct each other") {
  CHECK(right("-2,1", "The solutions are \\boxed{-2} and \\boxed{1}."));
  CHECK_FALSE(right("1", "The solutions are \\boxed{-2} and \\boxed{1}."));
  CHECK_FALSE(right("9", "\\boxed{7}\\boxed{8}\\boxed{9}"));
  CHECK(right("4", "The remainder is \\boxed{004}. Let me recheck. **Final** \\boxed{004}"));
  CHECK_FALSE(right("840840", "That gives \\boxed{840}., restated.\n**Result**\n\\boxed{840}"));
  CHECK(right("5", "\\boxed{5}, \\boxed{5}"));
}

TEST_CASE("rl/boxed: numbers are compared exactly") {
  for (const auto& pair : std::vector<std::pair<const char*, const char*>>{
           {"34", "34.0"},
           {"1.5", "\\frac{3}{2}"},
           {"\\frac{3}{2}", "\\dfrac{3}{2}"},
           {"\\frac{3}{2}", "\\frac32"},
           {"\\frac{1}{6}", "\\frac{\\frac{1}{2}}{3}"},
           {"1234", "1,234"},
           {"1234", " 1{,}234 "},
           {"0", "-0"},
           {"0.75", "3/4"},
           {"3/4", "6 / 8"},
           {"-0.5", "-.5"},
           {"5", "5."},
           {"073", "73"},
           {"1.50", "1.5"},
           {"-1/2", "\\frac{-1}{2}"},
           {"-1/2", "-\\frac12"},
           {"7", "x = 7"},
           {"7", "$7$"},
           {"7", "**7**"},
           {"7", "\\text{7}"},
           {"-5",
            "\xe2\x88\x92"
            "5"},
           {"12,000,023", "12000023"},
           {"16386.17", "\\$16,386.17"},
           {"7425000", "7,\\! 425,\\! 000"},
           {"100000000000000000000000000000000000000001",
            "100000000000000000000000000000000000000001.0"}}) {
    const std::string gold = pair.first;
    const std::string answer = pair.second;
    CAPTURE(gold);
    CAPTURE(answer);
    CHECK(right(gold, std::string("\\boxed{") + answer + "}"));
    CHECK(right(answer, std::string("\\boxed{") + gold + "}"));
  }
  for (const auto& pair : std::vector<std::pair<const char*, const char*>>{
           {"0.3333333333", "1/3"},
           {"100000000000000000000", "100000000000000000001"},
           {"9007199254740993", "9007199254740992"},
           {"18446744073709551616", "0"},
           {"-9223372036854775808", "9223372036854775808"},
           {"1", "1.0000001"},
           {"12", "(1,2)"},
           {"123", "1,2,3"},
           {"16", "0x10"},
           {"12", "12.5"},
           {"12", "12x"},
           {"12", "1 2"},
           {"100", "1.00"},
           {"0", "3x+4y=0"},
           {"500", "9,500"},
           {"\\frac{1}{23}", "\\frac123"},
           {"-\\frac{1}{2}", "\\frac{1}{2}"},
           {"5", "1/0"},
           {"5", "nan"},
           {"5", "5, 6"},
           {"50", "50\\%"},
           {"1234", "12,34"}}) {
    const std::string gold = pair.first;
    const std::string answer = pair.second;
    CAPTURE(gold);
    CAPTURE(answer);
    CHECK_FALSE(right(gold, std::string("\\boxed{") + answer + "}"));
  }
}

TEST_CASE("rl/boxed: text is compared after taking away spelling that does not matter") {
  CHECK(right("(1,2)", "\\boxed{(1, 2)}"));
  CHECK(right("\\sqrt{2}", "\\boxed{\\sqrt{ 2 }}"));
  CHECK(right("\\text{Evelyn}", "\\boxed{evelyn}"));
  CHECK(right("x+1", "\\boxed{\\left. x + 1 \\right.}"));
  CHECK_FALSE(right("A", "\\boxed{B}"));
  CHECK_FALSE(right("x", "\\boxed{X}"));  // one letter is a symbol, its case matters
}

TEST_CASE("rl/boxed: hostile input ends") {
  const int many = 200000;
  const auto repeat = [](std::string_view s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) {
      out += s;
    }
    return out;
  };
  CHECK_FALSE(right("5", repeat("\\boxed{", many)));
  CHECK_FALSE(right("5", repeat("{", many)));
  CHECK_FALSE(right("5", repeat("}", many)));
  CHECK_FALSE(right("5", repeat("\\", many)));
  CHECK_FALSE(right("5", repeat("<think>", many)));
  CHECK(right("5", "\\boxed{" + repeat("{", many) + "5" + repeat("}", many) + "}"));
  CHECK_FALSE(right("5", "\\boxed{" + repeat("\\frac{", many) + "}"));
  CHECK_FALSE(right("5", "\\boxed{" + repeat("\\frac{1}{", 1000) + "2" + repeat("}", 1000) + "}"));
  CHECK_FALSE(right("7", "\\boxed{" + repeat("7", many) + "}"));
  CHECK(right(repeat("7", 5000), "\\boxed{" + repeat("7", 5000) + "}"));
  CHECK(right("5", "\\boxed{5." + repeat("0", 5000) + "}"));
  CHECK(right("2", repeat("\\boxed{1} ", 3000) + " so \\boxed{2}"));
  CHECK_FALSE(right("2", repeat("\\boxed{1} ", 3000) + "\\boxed{2}"));
  CHECK_FALSE(right("5", std::string("\\boxed{5\0}", 10)));
  CHECK_FALSE(right("5", "\\boxed{" + repeat("9", 8000) + "/" + repeat("7", 100) + "}"));
}

TEST_CASE("rl/boxed: of the hard cases none is paid that should not be") {
  const std::string path =
      std::string(MINIRL_SOURCE_DIR) + "/../shared/cases/math_answers.dev.jsonl";
  if (!std::filesystem::exists(path)) {
    MESSAGE("SKIP: no hard cases beside the checkout");
    return;
  }
  std::ifstream in(path);
  int paid = 0;
  for (std::string line; std::getline(in, line);) {
    const Json item = Json::parse(line);
    const bool got =
        right(item.at("gold").get<std::string>(), item.at("completion").get<std::string>());
    const std::string id = item.at("id").get<std::string>();
    CAPTURE(id);
    CHECK_FALSE((got && !item.at("expect").get<bool>()));
    paid += got ? 1 : 0;
  }
  CHECK(paid >= 75);  // simple answers; symbolic ones need a symbolic verifier
}

TEST_CASE("rl/boxed: a gold answer is checked when the data set is loaded") {
  const RewardInfo& info = Rewards::find("reward", "boxed");
  CHECK(info.check_gold("34").empty());
  CHECK(info.check_gold("\\frac{1}{2}").empty());
  CHECK_FALSE(info.check_gold("").empty());
  CHECK_FALSE(info.check_gold("  $ $ ").empty());
  CHECK_FALSE(info.check_gold("\\frac{1}{2").empty());
  CHECK_FALSE(info.check_gold("1}{").empty());
  CHECK_THROWS_WITH_AS(require_gold(info, "", "train.jsonl:17"),
                       doctest::Contains("train.jsonl:17"), Error);
  CHECK_THROWS_WITH_AS(Rewards::find("reward", "boxd"), doctest::Contains("did you mean 'boxed'"),
                       Error);
  CHECK(info.instruction.find("\\boxed{}") != std::string::npos);
}

}  // namespace minirl::rl::test
