// Runs with a task and a reward of their own (registered here, so that no test of the rl layer lists them): dynamic
// sampling and the nucleus that is not renormalised.
#include <doctest/doctest.h>

#include "data/task.h"
#include "rl/reward.h"
#include "rl/trainer_support.h"

namespace minirl::rl {
namespace {

using namespace test;
using minirl::test::TemporaryDirectory;

// A task with hopeless problems among the open ones, and a reward that random weights earn by chance.
class Coin final : public data::Task {
 public:
  data::Example train_example(std::uint64_t, Index index) const override { return {index, fmt::format("{}?", index), index % 3 == 0 ? "open" : "hopeless"}; }
  data::SupervisedExample supervised_example(std::uint64_t seed, Index index) const override { return {train_example(seed, index), "x", data::Quality::good}; }
  std::vector<data::Example> eval_examples(Index n) const override {
    std::vector<data::Example> out;
    for (Index i = 0; i < n; ++i) { out.push_back({-1 - i, "e?", "open"}); }
    return out;
  }
  Index prompt_bytes_max() const override { return 8; }
  Index completion_bytes_max() const override { return 1; }
};
const bool registered_task = data::Tasks::add("test_coin", {"for this test", "test_coin", {}, [](const ParamMap&) -> std::unique_ptr<data::Task> { return std::make_unique<Coin>(); }});
const bool registered_reward = Rewards::add("test_coin", {.name = "test_coin", .summary = "for this test", .instruction = "", .score = [](std::string_view gold, std::string_view text) {
                                                            RewardResult r;
                                                            r.answered = true;
                                                            r.score = gold == "open" && !text.empty() && static_cast<unsigned char>(text[0]) % 2 == 0 ? 1 : 0;
                                                            return r;
                                                          },
                                                          .check_gold = [](std::string_view) { return std::string(); }});

const std::vector<std::string> kCoin = {"task.name=test_coin", "reward.name=test_coin", "reward.truncated_reward=keep", "rollout.max_new_tokens=10", "rollout.dynamic_sampling=true",
                                        "rollout.dynamic_max_batches=20"};

}  // namespace

TEST_CASE("rl/trainer: dynamic sampling goes on until the step has enough groups that teach something") {
  const Outcome o = train(kCoin);
  REQUIRE(o.witness.groups.size() == 3);
  for (std::size_t step = 0; step < 3; ++step) {
    CHECK(o.witness.groups[step].size() == 4);
    for (const Group& g : o.witness.groups[step]) {
      CHECK(g.example.answer == "open");
      CHECK_FALSE(g.report.zero_variance);
    }
    CHECK(o.witness.metric(step, "rollout/prompts_sampled") > 4);
    CHECK(o.witness.metric(step, "rollout/all_low_frac") > 0.3);
    CHECK(o.witness.metric(step, "rollout/zero_variance_frac") == 0);
  }
  CHECK(o.witness.groups[1][0].example.id > o.witness.groups[0][3].example.id);  // examples are used once
}

TEST_CASE("rl/trainer: under dynamic sampling a resumed run goes on at the exact example") {
  const Outcome straight = train(kCoin);
  const TemporaryDirectory folder;
  const LoadedConfig loaded = config(kCoin);
  {
    Witness witness;
    Trainer trainer(loaded, folder.path() / "checkpoints", witness, [&] { return witness.steps.size() >= 2 ? 2 : 0; });
    CHECK_THROWS_AS(trainer.run(), Error);
  }
  Witness witness;
  Trainer trainer(loaded, folder.path() / "checkpoints", witness);
  trainer.resume();
  trainer.run();
  CHECK(trainer.model().params().hash() == straight.weights);
  CHECK(witness.groups[0][0].example.id == straight.witness.groups[2][0].example.id);
}

TEST_CASE("rl/trainer: a nucleus without renormalisation shows as log-probabilities that are too small on average") {
  const Outcome o = train(with(kCoin, {"mismatch.top_p=0.5"}));
  // Tokens come from the likelier half only, so log mu of the whole vocabulary is what training computes:
  // the ratio is exactly 1 and the fault is invisible to every ratio. What gives it away is the sample itself.
  CHECK(o.witness.metric(0, "first_update/rollout_replay_logp_absdiff_max") == 0);
  const Outcome plain = train(kCoin);
  double nucleus = 0;
  double whole = 0;
  for (const auto& [sum, outcome] : {std::pair(&nucleus, &o), std::pair(&whole, &plain)}) {
    double n = 0;
    for (const Group& g : outcome->witness.groups[0]) {
      for (const Rollout& r : g.rollouts) {
        for (const float x : r.logp) {
          *sum += static_cast<double>(x);
          n += 1;
        }
      }
    }
    *sum /= n;
  }
  CHECK(nucleus > whole + 0.3);
}

}  // namespace minirl::rl
