#include "rl/kl_penalty.h"

#include <array>
#include <cmath>

#include "core/fmath.h"
#include "core/registry.h"

namespace minirl::rl {
namespace {

struct EstimatorText {
  KlEstimator estimator;
  std::string_view name;
  std::string_view words;
};
constexpr std::array<EstimatorText, 5> kEstimators{{
    {KlEstimator::k1, "k1",
     "its expected gradient is 0: as a term of the loss it only adds noise; right inside the "
     "reward"},
    {KlEstimator::k2, "k2", "its expected gradient is that of KL(pi, reference)"},
    {KlEstimator::k3, "k3",
     "its expected gradient is that of KL(reference, pi), the forward divergence"},
    {KlEstimator::k1_straight, "k1+", "shows k1, follows k2: the gradient of KL(pi, reference)"},
    {KlEstimator::k3_straight, "k3+", "shows k3, follows k2: the gradient of KL(pi, reference)"},
}};

double k3_value(double x) {
  const double limited =
      x > kLogRatioLimit ? kLogRatioLimit : (x < -kLogRatioLimit ? -kLogRatioLimit : x);
  return fmath::exp(-limited) + limited - 1;
}

}  // namespace

std::string_view kl_estimator_name(KlEstimator estimator) {
  return kEstimators[static_cast<std::size_t>(estimator)].name;
}
std::string kl_estimator_words(KlEstimator estimator) {
  return std::string(kEstimators[static_cast<std::size_t>(estimator)].words);
}
std::vector<std::string> kl_estimator_names() {
  std::vector<std::string> out;
  for (const auto& e : kEstimators) {
    out.emplace_back(e.name);
  }
  return out;
}

KlEstimator kl_estimator_from_name(std::string_view name) {
  for (const auto& e : kEstimators) {
    if (e.name == name) {
      return e.estimator;
    }
  }
  std::string hint = "known: k1, k2, k3, k1+, k3+";
  if (name == "kl") {
    hint = "'kl' of other tools is k1; " + hint;
  }
  if (name == "mse") {
    hint = "'mse' of other tools is k2; " + hint;
  }
  if (name == "low_var_kl") {
    hint = "'low_var_kl' of other tools is k3; " + hint;
  }
  fail(Exit::usage, fmt::format("unknown KL estimator '{}'", name), hint);
}

KlTerm kl_term(const KlOptions& options, double log_pi, double log_reference, double ratio) {
  const double x = log_pi - log_reference;
  KlTerm out;
  switch (options.estimator) {
    case KlEstimator::k1:
      out = {x, 1};
      break;
    case KlEstimator::k2:
      out = {0.5 * x * x, x};
      break;
    case KlEstimator::k3:
      out = {k3_value(x), std::fabs(x) > kLogRatioLimit ? 0 : -fmath::expm1(-x)};
      break;
    case KlEstimator::k1_straight:
      out = {x, x};
      break;
    case KlEstimator::k3_straight:
      out = {k3_value(x), x};
      break;
  }
  if (options.importance_weighted) {
    out = {ratio * out.value, ratio * (out.value + out.derivative)};
  }
  return out;
}

void add_kl_penalty(const KlOptions& options, std::span<const TokenInput> tokens,
                    std::span<TokenResult> results) {
  MINIRL_CHECK(tokens.size() == results.size(), "{} tokens, {} results", tokens.size(),
               results.size());
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (!tokens[t].active || (options.kept_tokens_only && results[t].masked())) {
      continue;
    }
    MINIRL_CHECK(tokens[t].has_reference, "the penalty needs log pi_ref of token {}", t);
    const KlTerm term =
        kl_term(options, tokens[t].log_pi, tokens[t].log_reference, tokens[t].rollout.ratio);
    results[t].loss += options.coefficient * term.value;
    results[t].dlogp += options.coefficient * term.derivative;
  }
}

std::vector<double> token_rewards(std::span<const float> logp_policy,
                                  std::span<const float> logp_reference, double reward, double beta,
                                  KlEstimator estimator) {
  MINIRL_CHECK(logp_policy.size() == logp_reference.size(), "{} and {} log-probabilities",
               logp_policy.size(), logp_reference.size());
  KlOptions options;
  options.estimator = estimator;
  std::vector<double> out;
  for (std::size_t t = 0; t < logp_policy.size(); ++t) {
    out.push_back(-beta * kl_term(options, static_cast<double>(logp_policy[t]),
                                  static_cast<double>(logp_reference[t]))
                              .value);
  }
  if (!out.empty()) {
    out.back() += reward;
  }
  return out;
}

std::vector<double> discounted_returns(std::span<const double> rewards, double gamma) {
  std::vector<double> out(rewards.size());
  double after = 0;
  for (std::size_t t = rewards.size(); t-- > 0;) {
    after = rewards[t] + gamma * after;
    out[t] = after;
  }
  return out;
}

void whiten_tokens(std::span<std::vector<double>> sequences, double tolerance) {
  constexpr double kInsideRoot = 1e-8;
  double count = 0;
  double sum = 0;
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (const auto& sequence : sequences) {
    for (const double x : sequence) {
      count += 1;
      sum += x;
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
  }
  const bool flat = count < 2 || high - low <= tolerance;
  const double mean = flat ? 0 : sum / count;
  double squares = 0;
  for (const auto& sequence : sequences) {
    for (const double x : sequence) {
      squares += (x - mean) * (x - mean);
    }
  }
  for (auto& sequence : sequences) {
    for (double& x : sequence) {
      x = flat ? 0 : (x - mean) / std::sqrt(squares / (count - 1) + kInsideRoot);
    }
  }
}

}  // namespace minirl::rl
