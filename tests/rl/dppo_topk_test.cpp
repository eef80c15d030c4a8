// DPPO over the head of the distribution: what it sees and Binary does not.
#include <doctest/doctest.h>

#include "core/fmath.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

/// One position: K most likely tokens of mu and their probabilities under pi; the sampled token
/// apart.
struct Head {
  std::vector<double> mu, pi;
  bool has_sampled;
  double sampled_mu, sampled_pi;
};

TokenResult evaluate_head(const Algorithm& algorithm, const Head& head, double advantage) {
  const auto logs = [](const std::vector<double>& p) {
    std::vector<float> out;
    for (const double x : p) {
      out.push_back(static_cast<float>(std::log(x)));
    }
    return out;
  };
  const auto mu = logs(head.mu);
  const auto pi = logs(head.pi);
  const std::vector<float> logp{static_cast<float>(std::log(head.sampled_pi))};
  const std::vector<float> logp_rollout{static_cast<float>(std::log(head.sampled_mu))};
  const std::vector<std::uint8_t> has{static_cast<std::uint8_t>(head.has_sampled ? 1 : 0)};
  SequenceView view;
  view.logp = logp;
  view.logp_rollout = logp_rollout;
  view.advantage = advantage;
  view.topk = static_cast<Index>(mu.size());
  view.topk_logp = pi;
  view.topk_logp_rollout = mu;
  view.topk_has_sampled = has;
  TokenResult result;
  algorithm.evaluate(view, std::span(&result, 1));
  return result;
}

}  // namespace

TEST_CASE(
    "rl/dppo_topk: two likely tokens swap, the sampled one hardly moves: Binary is blind, Top-K is "
    "not") {
  const Head head{{.45, .35, .15}, {.20, .60, .155}, true, .15, .155};
  CHECK_FALSE(
      evaluate_one(*make("dppo_tv", {{"delta", .15}}), TokenInput::from_probabilities(.155, .15, 1))
          .masked());
  CHECK_FALSE(
      evaluate_one(*make("dppo_kl", {{"delta", .05}}), TokenInput::from_probabilities(.155, .15, 1))
          .masked());
  const TokenResult tv = evaluate_head(*make("dppo_topk_tv", {{"delta", .15}}), head, 1);
  const TokenResult kl = evaluate_head(*make("dppo_topk_kl", {{"delta", .05}}), head, 1);
  CHECK(tv.reasons == (MaskReason::divergence_positive | MaskReason::outside_upper));
  CHECK(kl.masked());
  CHECK(near(tv.divergence, 0.5 * (.25 + .25 + .005 + .005), 1e-6));
  // The sampled token moves back to mu when A < 0: kept.
  CHECK_FALSE(evaluate_head(*make("dppo_topk_tv", {{"delta", .15}}), head, -1).masked());
}

TEST_CASE("rl/dppo_topk: a sampled token outside of the head is a class of its own") {
  const Head inside{{.6, .3}, {.5, .4}, true, .3, .4};
  const Head outside{{.6, .3}, {.6, .2}, false, .05, .15};
  const auto algorithm = make("dppo_topk_tv", {{"delta", .09}});
  CHECK(near(evaluate_head(*algorithm, inside, 1).divergence, .1, 1e-6));
  CHECK(near(evaluate_head(*algorithm, outside, 1).divergence, .1, 1e-6));
  CHECK(evaluate_head(*algorithm, outside, 1).masked());
  CHECK(algorithm->traits().needs_topk);
  CHECK(algorithm->traits().topk == 20);
  CHECK(make("dppo_topk_tv", {{"topk", std::int64_t{7}}})->traits().topk == 7);
}

TEST_CASE("rl/dppo_topk: the boundary is strict") {
  TokenInput token = TokenInput::from_probabilities(.6, .5, 1);
  token.rollout.topk_tv = .25;
  token.rollout.topk_kl = .25;
  for (const char* name : {"dppo_topk_tv", "dppo_topk_kl"}) {
    const auto algorithm = make(name, {{"delta", .25}});
    TokenResult result;
    algorithm->evaluate_tokens(std::span(&token, 1), std::span(&result, 1));
    CHECK_FALSE(result.masked());
    TokenInput beyond = token;
    beyond.rollout.topk_tv = beyond.rollout.topk_kl = .25 + 0x1p-50;
    algorithm->evaluate_tokens(std::span(&beyond, 1), std::span(&result, 1));
    CHECK(result.masked());
    CHECK(near(result.ratio, 1.2, 1e-15));
    // The other side, and the way back.
    TokenInput falling = TokenInput::from_probabilities(.5, .6, -1);
    falling.rollout.topk_tv = falling.rollout.topk_kl = .25;
    CHECK_FALSE(evaluate_one(*algorithm, falling).masked());
    falling.rollout.topk_tv = falling.rollout.topk_kl = .25 + 0x1p-50;
    CHECK(evaluate_one(*algorithm, falling).reasons ==
          (MaskReason::divergence_negative | MaskReason::outside_lower));
    falling.advantage = 1;
    CHECK_FALSE(evaluate_one(*algorithm, falling).masked());
  }
}

TEST_CASE("rl/dppo_topk: missing head log-probabilities are our fault and say so") {
  const auto algorithm = make("dppo_topk_kl", {});
  const std::vector<float> logp{-1};
  SequenceView view;
  view.logp = view.logp_rollout = logp;
  TokenResult result;
  CHECK_THROWS_WITH_AS(algorithm->evaluate(view, std::span(&result, 1)), doctest::Contains("top-K"),
                       Error);
}

}  // namespace minirl::rl::test
