#include "rl/policy_metrics.h"

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

constexpr double kClosedForm = 1e-13;

/// t1 .. t9 of the vectors (without the token of advantage 0 and the one of advantage 2).
std::vector<TokenInput> nine_tokens() {
  std::vector<TokenInput> out;
  for (const Json& t : vectors().at("tokens")) {
    if (t.at("id") == "t10" || t.at("id") == "t11") {
      continue;
    }
    out.push_back(TokenInput::from_probabilities(t.at("pi"), t.at("mu"), t.at("A")));
  }
  return out;
}

std::map<std::string, double> measure(const Algorithm& algorithm,
                                      std::span<const TokenInput> tokens) {
  std::vector<TokenResult> results(tokens.size());
  algorithm.evaluate_tokens(tokens, results);
  PolicyMetrics metrics(algorithm.traits());
  metrics.add(tokens, results);
  std::map<std::string, double> out;
  for (const Metric& m : metrics.finish()) {
    out[m.key] = m.value;
  }
  return out;
}

}  // namespace

TEST_CASE("rl/policy_metrics: the definitions of the vectors on nine tokens") {
  const auto tokens = nine_tokens();
  const auto& want = vectors().at("metrics");
  const auto ppo = measure(*make("ppo", {{"clip_low", .2}, {"clip_high", .28}}), tokens);
  const auto check = [&](double got, const char* label) {
    CAPTURE(label);
    CHECK(near(got, want.at(label), kClosedForm));
  };
  check(ppo.at("ratio_mean"), "ratio_mean");
  check(ppo.at("ratio_max"), "ratio_max");
  check(ppo.at("clipfrac_upper") + ppo.at("clipfrac_lower"),
        "UniRL GRPO clip_fraction (sign-agnostic)");
  check(ppo.at("masked_fraction"), "verl vanilla pg_clipfrac (c=inf)");
  check(ppo.at("clipped_low_fraction"), "TRL clip_ratio low");
  check(ppo.at("clipped_high_fraction"), "TRL clip_ratio high");
  check(ppo.at("kl_k1"), "k1 approx (mean log mu - log pi)");
  check(ppo.at("kl_k2"), "k2 approx");
  check(ppo.at("approx_kl"), "k3 approx");
  check(ppo.at("prob_absdiff_mean"), "mean|pi-mu|");
  check(ppo.at("prob_diff_max"), "max(pi-mu)");
  check(ppo.at("prob_diff_min"), "min(pi-mu)");
  check(ppo.at("prob_absdiff_std"), "verl rollout_probs_diff_std (unbiased)");
  check(ppo.at("bad_update_fraction"), "bad-update fraction (A<0, mu-pi>=.5)");
  const auto dual =
      measure(*make("ppo", {{"clip_low", .2}, {"clip_high", .28}, {"dual_clip", 3.}}), tokens);
  check(dual.at("dual_clip_fraction"), "verl pg_clipfrac_lower c=3");
  const auto dppo = measure(*make("dppo_tv", {{"delta", .2}}), tokens);
  check(dppo.at("masked_fraction"), "DPPO masked fraction");
  // By sign: t2 of t1..t4 with A > 0; t6 and t9 of t5..t9 with A < 0.
  CHECK(near(dppo.at("masked_positive_fraction"), 1.0 / 4, kClosedForm));
  CHECK(near(dppo.at("masked_negative_fraction"), 2.0 / 5, kClosedForm));
  CHECK(near(dppo.at("rollout_replay_logp_absdiff_max"), std::log(8.0), kClosedForm));
}

TEST_CASE("rl/policy_metrics: DRPO's penalty and clip fractions by their definitions") {
  const auto tokens = nine_tokens();
  const double delta = 0.2;
  double penalty = 0;
  double upper = 0;
  double lower = 0;
  for (const TokenInput& t : tokens) {
    const double mu = t.rollout.p;
    const double r = t.pi / mu;
    penalty += std::fabs(t.advantage) * mu * (r - 1) * (r - 1) / (2 * delta);
    upper += r > 1 + delta / mu ? 1 : 0;
    lower += r < 1 - delta / mu ? 1 : 0;
  }
  const auto n = static_cast<double>(tokens.size());
  const auto got = measure(*make("drpo", {{"delta", delta}}), tokens);
  CHECK(near(got.at("drpo_penalty_mean"), penalty / n, kClosedForm));
  CHECK(near(got.at("clipfrac_upper"), upper / n, kClosedForm));
  CHECK(near(got.at("clipfrac_lower"), lower / n, kClosedForm));
  CHECK(upper > 0);
  CHECK(lower > 0);
  CHECK(got.at("masked_fraction") == 0);
  // The paper's threshold can never be reached.
  const auto unreachable = measure(*make("drpo", {{"delta", 12.5}}), tokens);
  CHECK(unreachable.at("clipfrac_upper") == 0);
  CHECK(unreachable.at("clipfrac_lower") == 0);
  CHECK(measure(*make("ppo", {}), tokens).count("drpo_penalty_mean") == 0);
}

TEST_CASE(
    "rl/policy_metrics: on the first update every distance is exactly 0 and every ratio exactly "
    "1") {
  std::vector<TokenInput> tokens;
  for (const TokenInput& t : nine_tokens()) {
    tokens.push_back(TokenInput::from_logs(t.log_pi, t.log_pi, t.advantage));
  }
  for (const char* name : {"ppo", "dppo_tv", "dppo_kl", "drpo_tv"}) {
    const auto got = measure(*make(name, {}), tokens);
    for (const char* key : {"ratio_mean", "ratio_max", "ratio_min", "weight_mean"}) {
      CHECK(same_bits(got.at(key), 1.0));
    }
    for (const char* key : {"approx_kl", "kl_k1", "kl_k2", "rollout_replay_logp_absdiff_mean",
                            "rollout_replay_logp_absdiff_max", "prob_absdiff_mean", "prob_diff_max",
                            "prob_diff_min", "masked_fraction", "clipfrac_upper"}) {
      CAPTURE(key);
      CHECK(got.at(key) == 0);
    }
  }
}

TEST_CASE("rl/policy_metrics: tokens left out by the loss mask enter no mean") {
  auto tokens = nine_tokens();
  const auto algorithm = make("ppo", {});
  const auto before = measure(*algorithm, tokens);
  TokenInput extreme = TokenInput::from_probabilities(.999, 1e-6, -1);
  extreme.active = false;
  tokens.insert(tokens.begin() + 3, extreme);
  auto after = measure(*algorithm, tokens);
  CHECK(near(after.at("left_out_fraction"), 0.1, kClosedForm));
  after["left_out_fraction"] = 0;
  CHECK(before == after);
}

TEST_CASE("rl/policy_metrics: ratios are reported before the cap and beyond the clamp") {
  const std::vector<TokenInput> tokens{TokenInput::from_logs(-1, -26, 1)};
  const auto got = measure(*make("dppo_tv", {{"cap", 3.}}), tokens);
  CHECK(near(got.at("ratio_max"), std::exp(25.0), 1e-13));
}

TEST_CASE(
    "rl/policy_metrics: the gap between recomputed and sampled log-probabilities is measured apart "
    "from drift") {
  const std::vector<double> train{.5, .2, .9};
  const std::vector<double> rollout{.25, .4, .3};
  std::vector<TokenInput> tokens;
  for (std::size_t i = 0; i < 3; ++i) {
    tokens.push_back(
        TokenInput::from_probabilities(.1 * static_cast<double>(i + 1), rollout[i], 1, train[i]));
  }
  const auto got = measure(*make("pg_is", {}), tokens);
  CHECK(near(got.at("mismatch_ratio_mean"), 5.5 / 3, kClosedForm));
  CHECK(near(got.at("mismatch_ratio_max"), 3.0, kClosedForm));
  CHECK(near(got.at("mismatch_chi2"), (4 + .25 + 9) / 3 - 1, kClosedForm));
  CHECK(near(got.at("mismatch_ess_fraction"), (5.5 / 3) * (5.5 / 3) / (13.25 / 3), kClosedForm));
  CHECK(near(got.at("mismatch_kl_k3"), (0.306853 + 0.193147 + 0.901388) / 3, 1e-6));
  CHECK(near(got.at("mismatch_prob_absdiff_max"), 0.6, kClosedForm));
}

TEST_CASE(
    "rl/policy_metrics: every metric says its unit and its denominator, keys are unique, merging "
    "counts all") {
  const auto tokens = nine_tokens();
  const auto algorithm = make("drpo_tv", {});
  std::vector<TokenResult> results(tokens.size());
  algorithm->evaluate_tokens(tokens, results);
  PolicyMetrics all(algorithm->traits());
  PolicyMetrics first(algorithm->traits());
  PolicyMetrics second(algorithm->traits());
  const std::vector<float> entropies(tokens.size(), 0.5F);
  all.add(tokens, results, entropies);
  first.add(std::span(tokens).first(4), std::span(results).first(4), std::span(entropies).first(4));
  second.add(std::span(tokens).subspan(4), std::span(results).subspan(4),
             std::span(entropies).subspan(4));
  first.merge(second);
  const auto a = all.finish();
  const auto b = first.finish();
  REQUIRE(a.size() == b.size());
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].key);
    CHECK(a[i].key == b[i].key);
    CHECK(near(a[i].value, b[i].value, 1e-14));
    CHECK_FALSE(a[i].unit.empty());
    CHECK_FALSE(a[i].definition.empty());
    CHECK(++seen[a[i].key] == 1);
  }
  CHECK(seen.count("entropy") == 1);
}

TEST_CASE("rl/policy_metrics: a NaN is seen in the means and the extremes") {
  std::vector<TokenInput> tokens = nine_tokens();
  tokens.insert(tokens.begin() + 1, TokenInput::from_logs(std::nan(""), -1, 1));
  const auto got = measure(*make("ppo", {}), tokens);
  CHECK(std::isnan(got.at("ratio_mean")));
  CHECK(std::isnan(got.at("ratio_max")));
  CHECK(std::isnan(got.at("approx_kl")));
}

}  // namespace minirl::rl::test
