// d loss / d log pi of every registered loss against central differences in double.
#include <functional>

#include <doctest/doctest.h>

#include "core/fmath.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

// Central differences with step h have an error of h^2 l'''/6 + eps |l| / h; with h = 1e-6 and the
// losses here (third derivatives below 1e4 relative to their size) that is below 1e-7 of the loss'
// size.
constexpr double kStep = 1e-6;
constexpr double kDifference = 1e-7;

/// Parameters under which each loss' bounds are met by ordinary tokens. A loss that is missing here
/// takes part with its defaults.
Settings usual_params(const std::string& name) {
  if (name == "ipo") {
    return {{"kl_tau", .3}};
  }
  if (name == "spo") {
    return {{"epsilon", .2}};
  }
  if (name == "drpo") {
    return {{"delta", .2}};
  }
  if (name == "ppo") {
    return {{"clip_low", .2}, {"clip_high", .28}, {"dual_clip", 3.}};
  }
  if (name == "ipo") {
    return {{"kl_tau", .3}};
  }
  return {};
}

TokenInput moved(const TokenInput& t, double step) {
  std::optional<double> old;
  if (t.has_recomputed) {
    old = t.recomputed.log_p;
  }
  return TokenInput::from_logs(t.log_pi + step, t.rollout.log_p, t.advantage, old);
}

/// The reported loss at log pi + x, as a function of x.
double loss_at(const Algorithm& algorithm, const TokenInput& token, double x) {
  return evaluate_one(algorithm, moved(token, x)).loss;
}

}  // namespace

TEST_CASE(
    "rl/policy_loss: the gradient is the derivative of the reported loss wherever it has one") {
  Random random(1);
  for (const std::string& name : Algorithms::names()) {
    CAPTURE(name);
    const auto algorithm = make(name, usual_params(name));
    if (algorithm->traits().sequence_level) {
      continue;
    }
    if (algorithm->traits().needs_topk) {
      continue;
    }  // the divergence is an input: see dppo_topk_test
    int compared = 0;
    int masked = 0;
    for (int i = 0; i < 4000; ++i) {
      const double mu = fmath::exp(random.between(-7, -0.02));
      const double old = fmath::exp(fmath::log(mu) + random.between(-0.3, 0.3));
      const double pi = fmath::exp(std::fmin(fmath::log(mu) + random.between(-1.5, 1.5), -0.01));
      const double advantage = random.between(-2, 2);
      const TokenInput token =
          moved(TokenInput::from_probabilities(pi, mu, advantage, std::fmin(old, .99)), 0);
      const TokenResult here = evaluate_one(*algorithm, token);
      const TokenResult left = evaluate_one(*algorithm, moved(token, -kStep));
      const TokenResult right = evaluate_one(*algorithm, moved(token, kStep));
      masked += here.masked() ? 1 : 0;
      if (left.reasons != right.reasons) {
        continue;
      }  // a kink lies between
      if (!algorithm->traits().ratio_form &&
          (here.reasons & (MaskReason::capped | MaskReason::floored)) != 0) {
        // A detached weight: the reported value is flat there, the gradient is -A w (pg.2).
        CHECK(near(here.dlogp, here.loss, kDifference));
        continue;
      }
      const double difference = (right.loss - left.loss) / (2 * kStep);
      CAPTURE(pi);
      CAPTURE(mu);
      CAPTURE(advantage);
      CHECK(std::fabs(here.dlogp - difference) <= kDifference * std::fmax(1, std::fabs(here.loss)));
      ++compared;
    }
    CHECK(compared > 2000);
    const bool has_mask =
        name != "pg_is" && name != "spo" && name != "drpo" && name != "cispo" && name != "sapo";
    CHECK((masked > 0) == has_mask);
  }
}

TEST_CASE("rl/policy_loss: on both sides of a kink the gradient is that side's derivative") {
  struct Kink {
    std::string name;
    Settings params;
    double pi, mu, advantage;  // exactly on the kink
  };
  const std::vector<Kink> kinks{
      {"ppo", {{"clip_low", .25}, {"clip_high", .5}}, .75, .5, 1},
      {"ppo", {{"clip_low", .25}, {"clip_high", .5}}, .375, .5, -1},
      {"ppo", {{"dual_clip", 4.}}, .5, .125, -1},
      {"dppo_tv", {{"delta", .25}}, .75, .5, 1},
      {"dppo_tv", {{"delta", .25}}, .5, .75, -1},
      {"spo", {{"epsilon", .25}}, .5, .5, 1},  // r = 1: the sign of A (r - 1) changes
      {"drpo", {{"delta", .25}}, .5, .5, -1},
      {"drpo", {{"delta", .25}}, .75, .5, 1},  // the boundary: the weight passes 0
  };
  const double off = 1e-5;
  for (const Kink& k : kinks) {
    CAPTURE(k.name);
    CAPTURE(k.pi);
    const auto algorithm = make(k.name, k.params);
    const TokenInput on = TokenInput::from_probabilities(k.pi, k.mu, k.advantage);
    for (const double side : {-off, off}) {
      const TokenInput token = moved(on, side);
      const double difference =
          (loss_at(*algorithm, token, kStep) - loss_at(*algorithm, token, -kStep)) / (2 * kStep);
      CHECK(std::fabs(evaluate_one(*algorithm, token).dlogp - difference) <=
            kDifference * std::fmax(1, std::fabs(k.advantage)));
    }
  }
}

TEST_CASE(
    "rl/policy_loss: beyond the clamp of the log-ratio a loss in ratio form is flat, a detached "
    "weight is not") {
  for (const double log_ratio :
       {kLogRatioLimit - 0.5, kLogRatioLimit + 0.5, -kLogRatioLimit - 0.5}) {
    for (const double advantage : {1.0, -1.0}) {
      const TokenInput token = TokenInput::from_logs(-30 + log_ratio, -30, advantage);
      for (const char* name : {"ppo", "spo", "drpo"}) {
        const auto algorithm =
            make(name, name == std::string("ppo") ? Settings{} : usual_params(name));
        const TokenResult got = evaluate_one(*algorithm, token);
        if (std::fabs(log_ratio) > kLogRatioLimit) {
          CHECK(got.dlogp == 0);
          CHECK((got.reasons & MaskReason::saturated) != 0);
          CHECK(loss_at(*algorithm, token, 0.1) == got.loss);
        } else {
          CHECK((got.reasons & MaskReason::saturated) == 0);
        }
      }
      const TokenResult detached = evaluate_one(*make("pg_is", {}), token);
      CHECK(detached.dlogp ==
            -advantage * fmath::exp(std::fmax(-20.0, std::fmin(20.0, log_ratio))));
    }
  }
}

TEST_CASE("rl/drpo: the gradient's weight is that of Table 1 to 1e-12") {
  constexpr double kTable1 = 1e-12;
  Random random(2);
  for (const double delta : {0.05, 0.15, 0.2, 1.0, 12.5}) {
    const auto algorithm = make("drpo", {{"delta", delta}});
    double lowest = 1;
    double highest = 1;
    for (int i = 0; i < 20000; ++i) {
      const double mu = fmath::exp(random.between(-9, 0));
      const double pi = fmath::exp(std::fmin(fmath::log(mu) + random.between(-3, 3), 0.0));
      const double advantage = random.between(-2, 2);
      const TokenInput token = TokenInput::from_logs(fmath::log(pi), fmath::log(mu), advantage);
      const TokenResult got = evaluate_one(*algorithm, token);
      const double r = pi / mu;
      const double sign = advantage * (r - 1) > 0 ? 1 : -1;
      const double table1 = 1 - sign * std::fabs(pi - mu) / delta;
      const double from_gradient = got.dlogp / (-advantage * got.ratio);
      REQUIRE(std::fabs(from_gradient - table1) <= kTable1 / delta);
      REQUIRE(std::fabs(got.weight - table1) <= kTable1 / delta);
      lowest = std::fmin(lowest, got.weight);
      highest = std::fmax(highest, got.weight);
    }
    const WeightRange range = algorithm->weight_range();
    CHECK(lowest >= range.lower);
    CHECK(highest <= range.upper);
    CHECK(range.boundary_reachable == (delta < 1));
    CHECK((lowest < 0) == (delta < 1));
  }
}

TEST_CASE("rl/drpo: with the paper's 12.5 the boundary is out of reach and the loss says so") {
  const auto algorithm = make("drpo", {{"delta", 12.5}});
  const WeightRange range = algorithm->weight_range();
  CHECK_FALSE(range.boundary_reachable);
  CHECK(range.words.find("cannot be reached") != std::string::npos);
  CHECK(range.lower == doctest::Approx(.92));
  CHECK(range.upper == doctest::Approx(1.08));
  CHECK(make("drpo_tv", {})->weight_range().boundary_reachable);
}

}  // namespace minirl::rl::test
