// minirl rl/kl_penalty.h -- distance to a reference policy, as a term of the loss or of the reward.
// Which estimator does what in expectation: docs/math/policy_loss.md (kl.1) .. (kl.6).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rl/algorithm.h"

namespace minirl::rl {

enum class KlEstimator {
  k1,           // x = log pi - log ref                          (kl.1)
  k2,           // x^2 / 2                                       (kl.2)
  k3,           // e^-x + x - 1                                  (kl.3)
  k1_straight,  // value of k1, derivative of k2 ("k1+")         (kl.4)
  k3_straight,  // value of k3, derivative of k2 ("k3+")         (kl.4)
};
std::string_view kl_estimator_name(KlEstimator estimator);  // "k1", "k2", "k3", "k1+", "k3+"
KlEstimator kl_estimator_from_name(std::string_view name);  // Exit::usage; knows other tools' names
std::vector<std::string> kl_estimator_names();
/// What the estimator does to the policy when it is a term of the loss, for `plan`.
std::string kl_estimator_words(KlEstimator estimator);

struct KlOptions {
  KlEstimator estimator = KlEstimator::k3;
  double coefficient = 0;            // beta, per token
  bool importance_weighted = false;  // times pi/mu, differentiable                      (kl.5)
  bool kept_tokens_only =
      false;  // only tokens that the loss did not mask; default: all response tokens
};

struct KlTerm {
  double value = 0;       // nats
  double derivative = 0;  // d value / d log pi
};
/// One token; `ratio` = pi/mu is used by importance_weighted only. Not multiplied by beta.
KlTerm kl_term(const KlOptions& options, double log_pi, double log_reference, double ratio = 1);

/// Adds beta k to loss and beta dk/dlog pi to dlogp of every active token. The penalty then shares
/// the aggregation of the loss. The tokens need their reference log-probabilities.
void add_kl_penalty(const KlOptions& options, std::span<const TokenInput> tokens,
                    std::span<TokenResult> results);

/// Token rewards -beta k_t with the frozen policy's log-probabilities, plus `reward` at the last
/// token.
std::vector<double> token_rewards(std::span<const float> logp_policy,
                                  std::span<const float> logp_reference, double reward, double beta,
                                  KlEstimator estimator);
/// G_t = rewards_t + gamma G_{t+1} (kl.6).
std::vector<double> discounted_returns(std::span<const double> rewards, double gamma);
/// (x - mean) / sqrt(variance + 1e-8) over all entries of all sequences, variance with n - 1
/// (adv.9). Entries that differ by no more than `tolerance` become exactly 0.
void whiten_tokens(std::span<std::vector<double>> sequences, double tolerance = 1e-6);

}  // namespace minirl::rl
