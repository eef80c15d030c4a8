// The trainer serves every loss and everything around it: traits, anchors, reference, top-K, mismatch,
// dynamic sampling; and none of it depends on micro-batches or on an interruption.
#include "rl/trainer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "rl/algorithm_registry.h"
#include "rl/trainer_support.h"

namespace minirl::rl {
namespace {

using namespace test;
using minirl::test::TemporaryDirectory;

std::string refusal(const std::vector<std::string>& sets) {
  try {
    config(sets);
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("rl/trainer: every loss and preset trains, and the cut into micro-batches changes no bit") {
  for (const std::string& name : algorithm_names()) {
    CAPTURE(name);
    std::vector<std::string> sets = {"algorithm.name=" + name};
    const AlgorithmInfo info = algorithm_info(name);
    for (const ParamSpec& p : info.params) {
      if (!p.fallback) { sets.push_back("algorithm." + p.name + "=0.2"); }
    }
    if (info.traits.needs_seq_mean_token_mean) { sets.push_back("algorithm.loss_agg_mode=seq-mean-token-mean"); }
    const Outcome whole = train(with(sets, {"train.tokens_per_micro=4096"}));
    const Outcome cut = train(with(sets, {"train.tokens_per_micro=120"}));
    CHECK(whole.weights == cut.weights);
    REQUIRE(whole.witness.steps.size() == 3);
    for (std::size_t s = 0; s < 3; ++s) {
      CHECK(std::isfinite(whole.witness.metric(s, "train/loss")));
      CHECK(whole.witness.metric(s, "train/loss") == cut.witness.metric(s, "train/loss"));
      CHECK(whole.witness.metric(s, "audit/logp_ulp_max") == 0);
    }
    CHECK(whole.witness.metric(0, "train/grad_norm") > 0);
    CHECK(whole.witness.metric(0, "rollout/zero_variance_frac") < 1);
  }
}

TEST_CASE("rl/trainer: top-K divergences are recorded by the sampler, and exactly 0 before the first update") {
  for (const std::string more : {"algorithm.topk=20", "algorithm.topk=1"}) {
    const Outcome o = train({"algorithm.name=dppo_topk_tv", more});
    double later = 0;
    for (const auto& s : o.witness.sequences) {
      for (const TokenInput& t : s.tokens) {
        if (s.update == 0) {
          CHECK(t.rollout.topk_tv == 0);
          CHECK(t.rollout.topk_kl == 0);
        } else {
          CHECK(t.rollout.topk_tv >= std::fabs(t.pi - t.rollout.p) - 1e-6);  // Top-K sees at least what Binary sees
          later += t.rollout.topk_tv;
        }
      }
    }
    CHECK(later > 0);
  }
  CHECK(contains(refusal({"algorithm.name=dppo_topk_tv", "algorithm.topk=0"}), "topk"));
}

TEST_CASE("rl/trainer: recomputed anchors equal the rollout's to the bit where engines agree") {
  const Outcome o = train({"algorithm.name=mini_rl"});
  for (const auto& s : o.witness.sequences) {
    for (const TokenInput& t : s.tokens) { CHECK(t.recomputed.log_p == t.rollout.log_p); }
  }
  // Then anchoring the mask at pi_old is anchoring it at mu: the same weights.
  CHECK(train({"algorithm.name=dppo_tv"}).weights == train({"algorithm.name=dppo_tv", "algorithm.mask_anchor=recomputed"}).weights);
}

TEST_CASE("rl/trainer: a penalty to the reference is 0 at first, is told, and holds the policy back") {
  const Outcome free = train({"algorithm.kl_coef=1e-6"});
  const Outcome held = train({"algorithm.kl_coef=3"});
  CHECK(held.witness.metric(0, "train/kl_loss") >= 0);
  for (const auto& s : held.witness.sequences) {
    for (const TokenInput& t : s.tokens) {
      REQUIRE(t.has_reference);
      if (s.step == 1 && s.update == 0) { CHECK(t.log_reference == t.log_pi); }
    }
  }
  CHECK(held.witness.metric(2, "policy/reference_kl_k3") < free.witness.metric(2, "policy/reference_kl_k3"));
  CHECK(held.witness.metric(2, "policy/reference_kl_k3") > 0);
  CHECK_FALSE(train({}).witness.has(0, "train/kl_loss"));
}

TEST_CASE("rl/trainer: a penalty in the reward moves advantages, not the loss") {
  const Outcome o = train({"algorithm.kl_coef=0.5", "algorithm.kl_in=reward", "algorithm.kl_estimator=k1"});
  CHECK(o.witness.metric(0, "reward/kl_penalty_mean") == 0);  // the reference is the policy
  CHECK(o.witness.metric(1, "reward/kl_penalty_mean") != 0);
  for (const auto& groups : o.witness.groups) {
    for (const Group& g : groups) {
      double mean = 0;
      for (const Rollout& r : g.rollouts) { mean += (r.reward - r.kl_penalty) / static_cast<double>(g.rollouts.size()); }
      for (const Rollout& r : g.rollouts) { CHECK(std::fabs(r.advantage - (r.reward - r.kl_penalty - mean)) < 1e-12); }
    }
  }
  // REINFORCE++ gives each token its own return then: later tokens of a sequence carry less of the penalty.
  const Outcome returns = train({"algorithm.name=reinforce_pp", "algorithm.kl_coef=0.5", "algorithm.kl_in=reward", "algorithm.kl_estimator=k2"});
  bool differ = false;
  for (const auto& s : returns.witness.sequences) {
    for (const TokenInput& t : s.tokens) { differ = differ || (s.step > 1 && t.advantage != s.tokens[0].advantage); }
  }
  CHECK(differ);
}

TEST_CASE("rl/trainer: the entropy bonus raises entropy and is part of the loss") {
  const Outcome plain = train({"train.lr=3e-3"});
  const Outcome bonus = train({"train.lr=3e-3", "algorithm.entropy_coef=0.5"});
  const Outcome malus = train({"train.lr=3e-3", "algorithm.entropy_coef=-0.5"});
  CHECK(bonus.witness.metric(2, "policy/entropy") > plain.witness.metric(2, "policy/entropy"));
  CHECK(malus.witness.metric(2, "policy/entropy") < plain.witness.metric(2, "policy/entropy"));
  CHECK(bonus.witness.metric(0, "train/entropy_loss") < 0);
}

TEST_CASE("rl/trainer: corrections act where engines disagree, and are refused where they would count twice") {
  const std::vector<std::string> gap = {"algorithm.name=ppo", "algorithm.anchor=recomputed", "mismatch.logit_noise=0.5"};
  const Outcome plain = train(gap);
  for (const std::string kind : {"tis", "tis-sequence", "mis", "mis-sequence", "icepop", "geometric-mask"}) {
    CAPTURE(kind);
    CHECK(train(with(gap, {"algorithm.correction=" + kind})).weights != plain.weights);
  }
  // Engines that agree: every constant is exactly 1.
  const std::vector<std::string> same = {"algorithm.name=ppo", "algorithm.anchor=recomputed"};
  CHECK(train(same).weights == train(with(same, {"algorithm.correction=tis"})).weights);
  for (const char* name : {"pg_is", "dppo_tv", "drpo_tv", "mini_rl", "cppo"}) {
    CHECK(contains(refusal({std::string("algorithm.name=") + name, "algorithm.correction=tis"}), "twice"));
  }
}

TEST_CASE("rl/trainer: dynamic sampling trains on groups with differing scores only, and says what it dropped") {
  // The raw score of random weights is always 0, so every group is dropped: the limit ends it with a reason.
  const TemporaryDirectory folder;
  Witness witness;
  const LoadedConfig loaded = config({"rollout.dynamic_sampling=true", "rollout.dynamic_max_batches=2"});
  Trainer trainer(loaded, folder.path() / "checkpoints", witness);
  CHECK_THROWS_WITH_AS(trainer.run(), doctest::Contains("batches"), Error);
  CHECK(contains(refusal({"rollout.dynamic_sampling=true", "rollout.group_size=1"}), "group_size"));
}

TEST_CASE("rl/trainer: rollouts of averaged, stale or rounded weights; the tripwire rests only then") {
  for (const std::string set : {"rollout.ema_decay=0.5", "mismatch.weights=bf16", "mismatch.weights=e4m3", "mismatch.weights=int8", "mismatch.logit_noise=0.1", "mismatch.staleness=1"}) {
    CAPTURE(set);
    const Outcome o = train({set});
    CHECK(o.witness.metric(1, "audit/logp_ulp_max") > 0);
    CHECK(o.witness.metric(1, "first_update/prob_absdiff_mean") > 0);
    CHECK(train({set}).weights == o.weights);
    CHECK(train({set}).weights != train({}).weights);
  }
  // An average that follows at once is the live policy, one step late; staleness 0 is the live policy.
  CHECK(train({"mismatch.staleness=0"}).weights == train({}).weights);
  // Log mu recorded at T = 1 while tokens are drawn at T = 2.
  const Outcome untempered = train({"mismatch.untempered_logp=true", "rollout.temperature=2"});
  CHECK(untempered.witness.metric(0, "first_update/rollout_replay_logp_absdiff_mean") > 0.05);
  CHECK(contains(refusal({"mismatch.untempered_logp=true"}), "temperature"));
}

TEST_CASE("rl/trainer: a run that is stopped and resumed has the bits of one that was not, with every kind of state") {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {}, {"rollout.ema_decay=0.7"}, {"mismatch.staleness=3"}, {"rollout.ema_decay=0.7", "mismatch.staleness=3", "mismatch.weights=int8"},
           {"algorithm.kl_coef=0.1"}, {"algorithm.name=dppo_topk_kl", "algorithm.mask_anchor=recomputed", "mismatch.logit_noise=0.2"}}) {
    CAPTURE(sets.size());
    const Outcome straight = train(sets);
    const TemporaryDirectory folder;
    const LoadedConfig loaded = config(sets);
    {
      Witness witness;
      int polls = 0;
      Trainer trainer(loaded, folder.path() / "checkpoints", witness, [&] { return static_cast<int>(witness.steps.size()) >= 2 && ++polls > 0 ? 2 : 0; });
      CHECK_THROWS_AS(trainer.run(), Error);
      CHECK(witness.steps.size() == 2);
    }
    Witness witness;
    Trainer trainer(loaded, folder.path() / "checkpoints", witness);
    trainer.resume();
    trainer.run();
    CHECK(witness.steps.size() == 1);
    CHECK(trainer.model().params().hash() == straight.weights);
  }
}

TEST_CASE("rl/trainer: truncated completions can be left out, and count in the mean as the setting says") {
  const std::vector<std::string> sets = {"algorithm.mask_truncated=true", "algorithm.loss_agg_mode=seq-mean-token-sum"};
  const Outcome count = train(sets);
  const Outcome exclude = train(with(sets, {"algorithm.fully_masked=exclude"}));
  std::size_t left_out = 0;
  for (const auto& s : count.witness.sequences) {
    const bool out = !s.tokens.empty() && !s.tokens[0].active;
    left_out += out ? 1 : 0;
    for (const TokenResult& r : s.results) {
      if (out) {
        CHECK(r.dlogp == 0);
        CHECK(r.loss == 0);
      }
    }
  }
  // Adam hides a common factor of the gradient; its norm does not.
  CHECK(count.witness.metric(0, "train/grad_norm_max") < exclude.witness.metric(0, "train/grad_norm_max"));
  CHECK(left_out > 0);
  CHECK(left_out < count.witness.sequences.size());
  CHECK(count.witness.metric(0, "policy/left_out_fraction") > 0);
}

TEST_CASE("rl/trainer: settings that would have no effect or contradict the loss are refused with the reason") {
  CHECK(contains(refusal({"algorithm.kl_reference=somewhere"}), "kl_coef"));
  CHECK(contains(refusal({"algorithm.kl_kept_tokens_only=true"}), "kl_coef"));
  CHECK(contains(refusal({"algorithm.kl_coef=0.1", "algorithm.kl_in=reward", "algorithm.kl_estimator=k3+"}), "gradient"));
  CHECK(contains(refusal({"algorithm.kl_coef=0.1", "algorithm.kl_in=reward", "algorithm.kl_importance_weighted=true"}), "kl_in"));
  CHECK(contains(refusal({"algorithm.fully_masked=exclude"}), "mask_truncated"));
  CHECK(contains(refusal({"algorithm.name=gspo", "algorithm.loss_agg_mode=token-mean"}), "seq-mean-token-mean"));
  CHECK(contains(refusal({"algorithm.correction=tiss"}), "tis"));
  CHECK(contains(refusal({"mismatch.weights=fp8"}), "e4m3"));
}

}  // namespace minirl::rl
