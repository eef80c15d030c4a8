// minirl rl/kl_reward.h -- the penalty to a reference policy inside the reward: it is subtracted before
// advantages are made, with the log-probabilities of the frozen rollout policy. docs/math/policy_loss.md
// (kl.6).
#pragma once
#include <span>
#include <vector>

#include "rl/advantage.h"
#include "rl/kl_penalty.h"
#include "rl/policy_update.h"
#include "rl/rollout.h"

namespace minirl::rl {

/// Sets Rollout::kl_penalty = beta * sum over tokens of the estimate between mu and the reference.
/// logp_reference: one (T) vector a rollout, in the order of groups and rollouts.
void set_kl_penalties(std::span<Group> groups, std::span<const std::vector<float>> logp_reference,
                      double beta, KlEstimator estimator);

/// REINFORCE++ with the penalty in the reward: token t of every sequence gets the sum of the token
/// rewards from t on, -beta k and at the last token R, whitened over all tokens of the batch
/// (kl.6) (adv.9). One (T) vector a rollout, in order.
std::vector<std::vector<double>> token_returns(std::span<const Group> groups,
                                               std::span<const std::vector<float>> logp_reference,
                                               double beta, KlEstimator estimator);

}  // namespace minirl::rl
