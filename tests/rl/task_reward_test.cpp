// Tasks and rewards meet: what a task calls good must score, and nothing else may.
#include <doctest/doctest.h>

#include "data/countdown.h"
#include "data/task.h"
#include "rl/reward.h"

namespace minirl::rl {
namespace {

constexpr std::uint64_t kSeed = 7;

}  // namespace

TEST_CASE(
    "rl/reward: every good worked answer scores 1 under its task's reward, every other one 0") {
  for (const auto& name : data::Tasks::names()) {
    if (data::Tasks::find("task", name).reward.empty()) {
      continue;  // problems of files: any reward
    }
    CAPTURE(name);
    const auto task = data::make_task(name);
    const RewardInfo& reward = Rewards::find("reward", data::Tasks::find("task", name).reward);
    Index good = 0;
    for (Index i = 0; i < 4000; ++i) {
      const auto s = task->supervised_example(kSeed, i);
      const double score = reward.score(s.example.answer, s.completion).score;
      CHECK_MESSAGE(score == (s.quality == data::Quality::good ? 1.0 : 0.0),
                    s.example.prompt << s.completion);
      good += s.quality == data::Quality::good ? 1 : 0;
    }
    CHECK(good > 800);
    for (const auto& e : task->eval_examples(100)) {
      CHECK(reward.check_gold(e.answer).empty());
    }
    for (Index i = 0; i < 200; ++i) {
      CHECK(reward.check_gold(task->train_example(kSeed, i).answer).empty());
    }
  }
}

TEST_CASE("rl/reward: countdown takes the last box, judges it exactly and says why") {
  const RewardInfo& reward = Rewards::find("reward", "countdown");
  const auto score = [&](const char* completion) {
    return reward.score("64 from 3 5 8", completion);
  };
  CHECK(score("so \\boxed{(3+5)*8}").score == 1);
  CHECK(score("\\boxed{3+5} no, \\boxed{8*(3+5)}").score == 1);
  CHECK(score("\\boxed{(3+5)*8} no, \\boxed{3+5}").score == 0);
  CHECK(score("<think>\\boxed{1}</think>\\boxed{(3+5)*8}").score == 1);
  CHECK(score("<think>\\boxed{(3+5)*8}").score == 0);
  CHECK(score("\\boxed{(3+5)*8").score == 0);
  CHECK(score("(3+5)*8").score == 0);
  CHECK_FALSE(score("(3+5)*8").answered);
  CHECK(score("\\boxed{64}").score == 0);
  CHECK(score("\\boxed{64}").answered);
  CHECK(score("\\boxed{3+5}").why == "it is 8, not 64");
  CHECK(score("\\boxed{(3+5)*8} and \\boxed{(3+5)*8}").score ==
        0);  // two boxes joined are not one expression
  CHECK(score("").score == 0);
  CHECK_FALSE(reward.check_gold("64").empty());
  CHECK(reward.check_gold("64 from 3 5 8").empty());
}

}  // namespace minirl::rl
