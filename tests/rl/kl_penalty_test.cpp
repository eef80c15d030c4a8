#include "rl/kl_penalty.h"

#include <doctest/doctest.h>

#include "core/fmath.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

constexpr double kClosedForm = 1e-14;
constexpr double kPrinted = 1e-5;  // the sources state six digits

KlOptions of(KlEstimator estimator, bool weighted = false) {
  KlOptions o;
  o.estimator = estimator;
  o.importance_weighted = weighted;
  return o;
}

std::vector<double> softmax(const std::vector<double>& z) {
  double sum = 0;
  std::vector<double> p;
  for (const double x : z) {
    sum += std::exp(x);
  }
  for (const double x : z) {
    p.push_back(std::exp(x) / sum);
  }
  return p;
}

/// E_mu[f(a) d log pi(a)/dz_j] over the whole vocabulary.
template <class F>
std::vector<double> expected_gradient(const std::vector<double>& sampled_from,
                                      const std::vector<double>& pi, F derivative) {
  std::vector<double> out(pi.size(), 0.0);
  for (std::size_t a = 0; a < pi.size(); ++a) {
    for (std::size_t j = 0; j < pi.size(); ++j) {
      out[j] += sampled_from[a] * derivative(a) * ((a == j ? 1 : 0) - pi[j]);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("rl/kl_penalty: values and derivatives of the vectors") {
  struct Row {
    double pi, ref, k1, k2, k3, d2, d3;
  };
  for (const Row& r : {Row{.6, .3, 0.693147, 0.240227, 0.193147, 0.693147, 0.5},
                       Row{.3, .6, -0.693147, 0.240227, 0.306853, -0.693147, -1}}) {
    const double pi = std::log(r.pi);
    const double ref = std::log(r.ref);
    CHECK(near(kl_term(of(KlEstimator::k1), pi, ref).value, r.k1, kPrinted));
    CHECK(kl_term(of(KlEstimator::k1), pi, ref).derivative == 1);
    CHECK(near(kl_term(of(KlEstimator::k2), pi, ref).value, r.k2, kPrinted));
    CHECK(near(kl_term(of(KlEstimator::k2), pi, ref).derivative, r.d2, kPrinted));
    CHECK(near(kl_term(of(KlEstimator::k3), pi, ref).value, r.k3, kPrinted));
    CHECK(near(kl_term(of(KlEstimator::k3), pi, ref).derivative, r.d3, kPrinted));
    CHECK(near(kl_term(of(KlEstimator::k1_straight), pi, ref).value, r.k1, kPrinted));
    CHECK(near(kl_term(of(KlEstimator::k1_straight), pi, ref).derivative, r.d2, kPrinted));
    CHECK(near(kl_term(of(KlEstimator::k3_straight), pi, ref).value, r.k3, kPrinted));
    CHECK(near(kl_term(of(KlEstimator::k3_straight), pi, ref).derivative, r.d2, kPrinted));
  }
}

TEST_CASE(
    "rl/kl_penalty: what each estimator does in expectation: nothing, the reverse and the forward "
    "divergence") {
  constexpr double kVectorDifference = 1e-9;  // the vectors' gradients are central differences
  const Json& v = vectors().at("kl");
  const auto pi = softmax(v.at("z").get<std::vector<double>>());
  const auto ref = v.at("q").get<std::vector<double>>();
  const auto gradient = [&](KlEstimator e) {
    return expected_gradient(pi, pi, [&](std::size_t a) {
      return kl_term(of(e), std::log(pi[a]), std::log(ref[a])).derivative;
    });
  };
  for (std::size_t j = 0; j < pi.size(); ++j) {
    CHECK(std::fabs(gradient(KlEstimator::k1)[j]) < 1e-15);
    const double reverse = v.at("grad_rkl")[j];
    const double forward = v.at("grad_fkl")[j];
    CHECK(std::fabs(gradient(KlEstimator::k2)[j] - reverse) < kVectorDifference);
    CHECK(std::fabs(gradient(KlEstimator::k1_straight)[j] - reverse) < kVectorDifference);
    CHECK(std::fabs(gradient(KlEstimator::k3_straight)[j] - reverse) < kVectorDifference);
    CHECK(std::fabs(gradient(KlEstimator::k3)[j] - forward) < kVectorDifference);
  }
  // Tokens from another policy: k3 times the ratio follows the reverse divergence exactly (kl.5).
  const auto mu = softmax({-.3, .4, .1, .2});
  const auto weighted = expected_gradient(mu, pi, [&](std::size_t a) {
    return kl_term(of(KlEstimator::k3, true), std::log(pi[a]), std::log(ref[a]), pi[a] / mu[a])
        .derivative;
  });
  for (std::size_t j = 0; j < pi.size(); ++j) {
    CHECK(std::fabs(weighted[j] - v.at("grad_rkl")[j].get<double>()) < kVectorDifference);
  }
}

TEST_CASE("rl/kl_penalty: derivatives are those of the values, straight-through ones are not") {
  const double h = 1e-6;
  const double mu = -1.3;
  for (const double pi : {-0.2, -1.1, -4.0}) {
    for (const double ref : {-0.5, -1.1, -3.0}) {
      for (const auto estimator : {KlEstimator::k1, KlEstimator::k2, KlEstimator::k3}) {
        for (const bool weighted : {false, true}) {
          const auto value = [&](double x) {
            return kl_term(of(estimator, weighted), x, ref, std::exp(x - mu)).value;
          };
          const double difference = (value(pi + h) - value(pi - h)) / (2 * h);
          CHECK(near(kl_term(of(estimator, weighted), pi, ref, std::exp(pi - mu)).derivative,
                     difference, 1e-8));
        }
      }
      CHECK(kl_term(of(KlEstimator::k1_straight), pi, ref).derivative == pi - ref);
    }
  }
  CHECK(kl_term(of(KlEstimator::k3), -1, -1).value == 0);
  CHECK(kl_term(of(KlEstimator::k3), -1, -1).derivative == 0);
  CHECK(std::isfinite(kl_term(of(KlEstimator::k3), -900, -1).value));
  CHECK(kl_term(of(KlEstimator::k3), -900, -1).derivative == 0);
  CHECK(std::isnan(kl_term(of(KlEstimator::k3), std::nan(""), -1).value));
}

TEST_CASE(
    "rl/kl_penalty: in the loss it covers all response tokens, or on request only the kept ones") {
  std::vector<TokenInput> tokens(3, TokenInput::from_probabilities(.75, .5, 1));
  for (TokenInput& t : tokens) {
    t.has_reference = true;
    t.log_reference = std::log(.5);
  }
  tokens[0] = TokenInput::from_probabilities(.5, .5, 1);
  tokens[0].has_reference = true;
  tokens[0].log_reference = std::log(.25);
  tokens[2].active = false;
  const auto algorithm = make("dppo_tv", {{"delta", .2}});
  std::vector<TokenResult> plain(3);
  algorithm->evaluate_tokens(tokens, plain);
  CHECK(plain[1].masked());
  KlOptions o = of(KlEstimator::k2);
  o.coefficient = .1;
  auto all = plain;
  add_kl_penalty(o, tokens, all);
  CHECK(near(all[0].dlogp - plain[0].dlogp, .1 * std::log(2.0), kClosedForm));
  CHECK(near(all[1].dlogp, .1 * std::log(1.5), kClosedForm));
  CHECK(same_bits(all[2].dlogp, 0.0));
  o.kept_tokens_only = true;
  auto kept = plain;
  add_kl_penalty(o, tokens, kept);
  CHECK(same_bits(kept[0].dlogp, all[0].dlogp));
  CHECK(same_bits(kept[1].dlogp, 0.0));
  tokens[0].has_reference = false;
  CHECK_THROWS_AS(add_kl_penalty(o, tokens, kept), Error);
}

TEST_CASE("rl/kl_penalty: in the reward, with the numbers of the vectors") {
  // log pi - log ref = (.5, -.2, .1), beta .1, reward 1, gamma 1.
  const std::vector<float> policy{-1.0F, -1.0F, -1.0F};
  const std::vector<float> reference{-1.5F, -0.8F, -1.1F};
  const auto rewards = token_rewards(policy, reference, 1, .1, KlEstimator::k1);
  constexpr double kFloat = 1e-7;
  CHECK(near(rewards[0], -.05, kFloat));
  CHECK(near(rewards[1], .02, kFloat));
  CHECK(near(rewards[2], .99, kFloat));
  const auto returns = discounted_returns(rewards, 1);
  CHECK(near(returns[0], .96, kFloat));
  CHECK(near(returns[1], 1.01, kFloat));
  CHECK(near(returns[2], .99, kFloat));
  CHECK(near(discounted_returns(std::vector<double>{1, 0, 8}, .5)[0], 3, kClosedForm));
  CHECK(token_rewards({}, {}, 1, .1, KlEstimator::k1).empty());
}

TEST_CASE("rl/kl_penalty: whitening over all tokens, exactly 0 without variance") {
  std::vector<std::vector<double>> values{{1, 1}, {0, 0, 0}};
  whiten_tokens(values);
  CHECK(near(values[0][0], 1.09545, kPrinted));
  CHECK(near(values[1][2], -0.730297, kPrinted));
  std::vector<std::vector<double>> flat{{.1, .1, .1}, {.1}, {}};
  whiten_tokens(flat);
  for (const auto& sequence : flat) {
    for (const double x : sequence) {
      CHECK(same_bits(x, 0.0));
    }
  }
}

TEST_CASE("rl/kl_penalty: the metrics hold the distance to the reference where there is one") {
  const std::vector<float> logp{-1, -2};
  const std::vector<float> reference{-1.5F, -1.5F};
  SequenceView view;
  view.logp = view.logp_rollout = logp;
  view.logp_reference = reference;
  const auto tokens = make_tokens(view, Traits{});
  CHECK(tokens[0].has_reference);
  CHECK(near(tokens[0].log_pi - tokens[0].log_reference, .5, kClosedForm));
}

TEST_CASE("rl/kl_penalty: names, and what other tools call them") {
  for (const std::string& name : kl_estimator_names()) {
    CHECK(kl_estimator_name(kl_estimator_from_name(name)) == name);
    CHECK_FALSE(kl_estimator_words(kl_estimator_from_name(name)).empty());
  }
  CHECK_THROWS_WITH_AS(kl_estimator_from_name("low_var_kl"), doctest::Contains("is k3"), Error);
}

}  // namespace minirl::rl::test
