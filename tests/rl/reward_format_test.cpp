// Rewards of form, their weights, and the penalty of length.
#include <stdexcept>

#include <doctest/doctest.h>

#include "rl/config.h"
#include "rl/reward_mix.h"
#include "rl/rewards/answer.h"
#include "rl/rollout.h"

namespace minirl::rl {
namespace {

double form(const char* name, const std::string& completion) {
  return Rewards::find("reward", name).score("", completion).score;
}

Group group_of(const std::vector<std::string>& texts, const char* gold) {
  Group g;
  g.example.answer = gold;
  for (const std::string& text : texts) {
    Rollout r;
    r.text = text;
    r.stopped = true;
    r.ids = std::vector<Token>(10);
    g.rollouts.push_back(std::move(r));
  }
  return g;
}

LoadedConfig load(const std::vector<std::string>& sets) {
  std::vector<ConfigSource> sources = {
      ConfigSource::text("t.toml", "[algorithm]\nname = \"drpo\"\ndelta = 0.2\n")};
  for (const auto& s : sets) {
    sources.push_back(ConfigSource::set(s));
  }
  return load_config(sources);
}

}  // namespace

TEST_CASE("rl/rewards/format: the opening tag may be in the prompt, end tokens are no text") {
  for (const char* good :
       {"<think>a</think>b", "a</think>b", "\n<think>\na\n</think>\n\nb<|im_end|>",
        "a</think>b<|im_end|>\n", "<think></think>b</s>"}) {
    CAPTURE(good);
    CHECK(form("think_format", good) == 1);
  }
  for (const char* bad :
       {"", "b", "<think>a", "<think>a</think>", "<think>a</think><|im_end|>", "x<think>a</think>b",
        "<think>a<think>b</think>c", "a</think>b</think>c", "<think>a</think>b<think>c</think>"}) {
    CAPTURE(bad);
    CHECK(form("think_format", bad) == 0);
  }
  CHECK(form("answer_tags", "<think>a</think> <answer>5</answer>") == 1);
  CHECK(form("answer_tags", "a</think><answer>5</answer><|im_end|>") == 1);
  CHECK(form("answer_tags", "<think>a</think>5") == 0);
  CHECK(form("answer_tags", "<think>a</think><answer> </answer>") == 0);
  CHECK(form("answer_tags", "<think>a</think><answer>5</answer> and more") == 0);
  CHECK(form("answer_tags", "<think>a</think><answer>5</answer><answer>6</answer>") == 0);
  CHECK(form("has_box", "so \\boxed{5}") == 1);
  CHECK(form("has_box", "so \\boxed{}") == 0);
  CHECK(form("has_box", "so \\boxed{5") == 0);
  CHECK(form("has_box", "<think>\\boxed{5}</think>5") == 0);
  CHECK(form("has_box", "<think>\\boxed{5}") == 0);
}

TEST_CASE("rl/rewards: end tokens that a decoder keeps do not hide an answer") {
  CHECK(without_end_tokens("5 <|im_end|>\n</s>") == "5");
  CHECK(without_end_tokens("<|im_end|>").empty());
  CHECK(Rewards::find("reward", "math_answer_line").score("5", "Answer: 5<|im_end|>").score == 1);
  CHECK(Rewards::find("reward", "math_hashes").score("5", "#### 5<|endoftext|>").score == 1);
  CHECK(Rewards::find("reward", "math").score("5", "\\boxed{5<|im_end|>").score == 0);
}

TEST_CASE("rl/rewards/repetition: minus the share of triples that are not new") {
  CHECK(form("repetition", "") == 0);
  CHECK(form("repetition", "a b") == 0);
  CHECK(form("repetition", "a b c") == 0);
  CHECK(form("repetition", "a b c d e") == 0);
  // abc bca cab abc: 3 of 4 are distinct
  CHECK(form("repetition", "a b c a b c") == doctest::Approx(-0.25));
  CHECK(form("repetition", "A b\nC a B  c") == doctest::Approx(-0.25));
  std::string loop;
  for (int i = 0; i < 1002; ++i) {
    loop += "x ";
  }
  CHECK(form("repetition", loop) == doctest::Approx(-0.999));
}

TEST_CASE("rl/rollout: the penalty of length is that of the published formula") {
  // limit 20480, buffer 4096
  CHECK(soft_length_penalty(16384, 20480, 4096) == 0);
  CHECK(soft_length_penalty(16385, 20480, 4096) == -1.0 / 4096);
  CHECK(soft_length_penalty(18432, 20480, 4096) == -0.5);
  CHECK(soft_length_penalty(20480, 20480, 4096) == -1);
  CHECK(soft_length_penalty(21000, 20480, 4096) == -4616.0 / 4096);
  CHECK(soft_length_penalty(10, 20480, 4096) == 0);
}

TEST_CASE("rl/rollout: one score a completion, by index, and weights add up") {
  const std::vector<std::string> texts = {"<think>a</think>\\boxed{5}", "\\boxed{6}", "no box",
                                          "<think>\\boxed{5}", "a</think>\\boxed{4}"};
  std::vector<Group> groups = {group_of(texts, "5"), group_of({"\\boxed{7}"}, "7")};
  RewardOptions options;
  options.reward = &Rewards::find("reward", "math");
  options.truncated = TruncatedReward::keep;
  for (const int threads : {1, 3}) {
    score_groups(groups, options, threads);
    const double expected[] = {1, 0, 0, 0, 0};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(texts[i]);
      CHECK(groups[0].rollouts[i].reward == expected[i]);
    }
    CHECK(groups[1].rollouts[0].reward == 1);
  }
  CHECK(groups[0].rollouts[2].verdict.answered == false);  // without a box nothing was found
  options.weight = 2;
  options.extra = parse_extra_rewards("think_format 0.25, has_box 0.5");
  score_groups(groups, options, 2);
  const double expected[] = {2.75, 0.5, 0, 0, 0.75};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i]);
    CHECK(groups[0].rollouts[i].reward == expected[i]);
  }
}

TEST_CASE("rl/rollout: a judge that stumbles scores 0, is counted, and ends nothing") {
  const RewardInfo stumbling{.name = "stumbling",
                             .summary = "",
                             .instruction = "",
                             .score = [](std::string_view, std::string_view completion) {
                               if (completion == "bad") {
                                 throw std::runtime_error("overflow");
                               }
                               return RewardResult{1, true, "", "right"};
                             },
                             .check_gold = nullptr};
  std::vector<Group> groups = {group_of({"good", "bad", "good", "bad", "bad"}, "5")};
  RewardOptions options;
  options.reward = &stumbling;
  score_groups(groups, options, 2);
  const double expected[] = {1, 0, 1, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(groups[0].rollouts[i].reward == expected[i]);
  }
  CHECK(groups[0].rollouts[1].verdict.why == "undecided: the reward failed: overflow");
  CHECK(summarize(groups).undecided_frac == doctest::Approx(0.6));
}

TEST_CASE("rl/config: rewards that make no sense together are refused with the reason") {
  CHECK(load({}).config.reward.extra.empty());
  CHECK(load({"reward.extra='has_box 0.2, repetition 1'"}).config.reward.extra ==
        "has_box 0.2, repetition 1");
  const auto refused = [](const std::vector<std::string>& sets, const char* words) {
    try {
      load(sets);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == Exit::usage);
      CHECK_MESSAGE(std::string(error.what()).find(words) != std::string::npos, error.what());
    }
  };
  refused({"reward.extra='has_boxes 0.2'"}, "did you mean 'has_box'");
  refused({"reward.extra='has_box'"}, "no name with a weight");
  refused({"reward.extra='has_box -1'"}, "not a number above 0");
  refused({"reward.extra='has_box nan'"}, "not a number above 0");
  refused({"reward.extra='has_box 0.1, has_box 0.1'"}, "given twice");
  refused({"reward.extra='math 0.5'"}, "judges the answer");
  refused({"reward.extra='has_box 0.6, think_format 0.5'"}, "as much as a right answer");
  refused({"reward.name=command"}, "needs the program");
  refused({"reward.command=cat"}, "reward.name is not");
  refused({"reward.name=has_box"}, "reward.name");
}

}  // namespace minirl::rl
