// Conventions that people get wrong (docs/algorithms/README.md, docs/math/mismatch.md): temperature, nucleus, length
// shaping, and the reports of faults in other code bases that belong to losses, advantages and log-probabilities.
#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "rl/advantage.h"
#include "rl/kl_penalty.h"
#include "rl/micro_batch.h"
#include "rl/model_support.h"
#include "rl/policy_metrics.h"
#include "rl/policy_update.h"
#include "rl/rollout.h"
#include "rl/support.h"

namespace minirl::rl {
namespace {

// A head whose logits are the numbers of the vectors: h = 1, w = z.
struct VectorHead {
  std::vector<double> z = test::vectors()["logits"]["z"].get<std::vector<double>>();
  double T = test::vectors()["logits"]["T"].get<double>();
  std::int32_t a = test::vectors()["logits"]["a"].get<std::int32_t>();
  Param one{"one", Tensor::from<double>({1, 1}, std::vector<double>{1.0}, {}), true};
  Param w{"w", Tensor::from<double>({static_cast<Index>(z.size()), 1}, z, {}), true};

  // log p_a and H (row 2), and after backward with these seeds, dL/dz.
  std::pair<double, double> forward(double temperature) {
    Tape tape(false, {});
    const Var y = run(tape, temperature);
    return {y.value.span<double>()[0], y.value.span<double>()[1]};
  }
  std::vector<double> backward(double dlogp, double dentropy) {
    Tape tape(true, {});
    const Var y = run(tape, T);
    Tensor seed = Tensor::zeros({2, 1}, DType::f64, {});
    seed.span<double>()[0] = dlogp;
    seed.span<double>()[1] = dentropy;
    w.zero_grads();
    one.zero_grads();
    tape.backward(y, std::move(seed));
    const auto g = w.grad(0).span<double>();
    return {g.begin(), g.end()};
  }

 private:
  Var run(Tape& tape, double temperature) {
    const Var h = ops::embedding(tape, {&one, 0}, Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{0}, {}));
    return ops::token_logp(tape, h, {&w, 0}, Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{a}, {}), {temperature, true, 0, 0});
  }
};

}  // namespace

TEST_CASE("rl/conventions: logits, temperature and entropy have the numbers of the vectors (V8)") {
  const test::Json& v = test::vectors()["logits"];
  VectorHead head;
  const auto [logp, entropy] = head.forward(head.T);
  CHECK(test::near(std::exp(logp), v["p"][0].get<double>(), 1e-12));
  CHECK(test::near(entropy, v["H"].get<double>(), 1e-12));
  const double mu = v["mu_a"].get<double>();
  const auto pg = test::make("pg_is", {});
  const TokenInput token = TokenInput::from_logs(logp, std::log(mu), 1);
  TokenResult result;
  pg->evaluate_tokens(std::span(&token, 1), std::span(&result, 1));
  CHECK(test::near(result.loss, v["loss"].get<double>(), 1e-12));
  const auto dz = head.backward(result.dlogp, 0);
  const auto dH = head.backward(0, 1);
  for (std::size_t j = 0; j < 4; ++j) {
    // The vectors' derivatives are central differences, good to 1e-9. The factor 1/T is in them.
    CHECK(test::near(dz[j], v["dz"][j].get<double>(), 1e-9));
    CHECK(test::near(dH[j], v["dH"][j].get<double>(), 1e-9));
  }
  // Forgetting the temperature on one side is a factor exp(-0.44019 + 0.270674).
  CHECK(test::near(std::exp(head.forward(1.0).first - logp), 0.844073, 1e-6));
}

TEST_CASE("rl/conventions: a nucleus that is not renormalised leaks log S on every token (V8)") {
  VectorHead head;
  const test::Json& v = test::vectors()["logits"];
  const double S = v["p"][0].get<double>() + v["p"][1].get<double>();
  CHECK(test::near(S, 0.945687, 1e-6));
  CHECK(test::near(std::log(S), -0.0558439, 1e-6));
}

TEST_CASE("rl/conventions: the penalty for length has the numbers of the vectors (V11)") {
  for (const auto& [tokens, penalty] : {std::pair{16384, 0.0}, {16385, -0.000244141}, {18432, -0.5}, {20480, -1.0}, {21000, -1.12695}}) {
    CHECK(test::near(soft_length_penalty(tokens, 20480, 4096), penalty, 1e-5));
  }
  CHECK(soft_length_penalty(5, 10, 0) == 0);
}

TEST_CASE("rl/conventions: a log-probability above 0 by rounding makes no NaN anywhere") {
  for (const std::string& name : algorithm_names()) {
    CAPTURE(name);
    test::Settings settings;
    for (const ParamSpec& p : algorithm_info(name).params) {
      if (!p.fallback) { settings[p.name] = 0.2; }
    }
    const auto loss = test::make(name, settings);
    for (const double pi : {1e-7, 0.0, -1e-9, -50.0}) {
      for (const double mu : {1e-7, 0.0, -1e-9, -50.0}) {
        for (const double a : {1.0, -1.0, 0.0}) {
          const TokenInput token = TokenInput::from_logs(pi, mu, a, mu);
          TokenResult r;
          loss->evaluate_tokens(std::span(&token, 1), std::span(&r, 1));
          CHECK(std::isfinite(r.loss));
          CHECK(std::isfinite(r.dlogp));
          CHECK(std::isfinite(r.divergence));
          if (a == 0) { CHECK(r.dlogp == 0); }
        }
      }
    }
  }
}

TEST_CASE("rl/conventions: the loss is 0 on the first on-policy step and the gradient is not") {
  // Mean-only advantages of a group add up to 0; people take the zero for a fault.
  std::vector<double> rewards = {1, 0, 0, 1};
  const auto advantages = group_advantages(rewards, {});
  const auto loss = test::make("ppo", {});
  double sum = 0;
  double size = 0;
  for (const double a : advantages) {
    const TokenInput token = TokenInput::from_logs(-0.7, -0.7, a);
    TokenResult r;
    loss->evaluate_tokens(std::span(&token, 1), std::span(&r, 1));
    sum += r.loss;
    size += std::fabs(r.dlogp);
  }
  CHECK(sum == 0);
  CHECK(size == 2);
}

TEST_CASE("rl/conventions: equal rewards, groups of one and nearly equal rewards have advantage 0, never NaN") {
  for (const std::string& name : estimator_names()) {
    CAPTURE(name);
    AdvantageOptions o;
    o.estimator = estimator_from_name(name);
    const bool baseline = o.estimator != AdvantageEstimator::raw;
    for (const bool by_std : {false, true}) {
      o.normalize_by_std = by_std && (name == "group-mean" || name == "rloo" || name == "pass-at-k");
      const std::vector<Index> lengths = {3, 5, 8, 2};
      AdvantageReport report;
      for (const double a : group_advantages(std::vector<double>{0.1, 0.1, 0.1, 0.1}, o, &report, lengths)) { CHECK((baseline ? a == 0 : a == 0.1)); }
      CHECK(report.zero_variance);
      for (const double a : group_advantages(std::vector<double>{0.1, 0.1 + 1e-9, 0.1, 0.1}, o, nullptr, lengths)) {
        CHECK(std::isfinite(a));
        CHECK(std::fabs(a) <= 0.11);
      }
      if (o.estimator != AdvantageEstimator::pass_at_k) {
        const double one = group_advantages(std::vector<double>{0.7}, o, &report, std::vector<Index>{4})[0];
        CHECK((baseline ? one == 0 : one == 0.7));
        CHECK(report.single);
      }
    }
  }
}

TEST_CASE("rl/conventions: statistics are those of each group, not of the batch") {
  // Two prompts, one easy, one hard: against the batch's mean every easy completion would look good.
  const std::vector<GroupOutcome> groups = {{{1, 1, 1, 0}, {1, 1, 1, 1}}, {{0, 0, 0, 1}, {1, 1, 1, 1}}};
  const auto advantages = batch_advantages(groups, {});
  CHECK(advantages[0][0] == 0.25);
  CHECK(advantages[0][3] == -0.75);
  CHECK(advantages[1][0] == -0.25);
  CHECK(advantages[1][3] == 0.75);
}

TEST_CASE("rl/conventions: the penalty to a reference shares the aggregation of the loss, and may skip masked tokens") {
  KlOptions kl;
  kl.estimator = KlEstimator::k2;
  kl.coefficient = 0.5;
  std::vector<TokenInput> tokens = {TokenInput::from_logs(-1, -1, 1), TokenInput::from_logs(-0.1, -1, 1)};
  for (TokenInput& t : tokens) {
    t.has_reference = true;
    t.log_reference = -2;
  }
  const auto loss = test::make("dppo_tv", {});
  for (const bool kept_only : {false, true}) {
    kl.kept_tokens_only = kept_only;
    std::vector<TokenResult> r(2);
    loss->evaluate_tokens(tokens, r);
    REQUIRE_FALSE(r[0].masked());
    REQUIRE(r[1].masked());
    add_kl_penalty(kl, tokens, r);
    CHECK(test::near(r[0].dlogp, -1 + 0.5 * 1.0, 1e-12));
    CHECK(test::near(r[1].dlogp, kept_only ? 0 : 0.5 * 1.9, 1e-12));
  }
}

}  // namespace minirl::rl
