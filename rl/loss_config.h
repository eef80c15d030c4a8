// minirl rl/loss_config.h -- from the [algorithm] and [mismatch] tables to what a step takes, and what
// does not go together.
#pragma once
#include <string>
#include <vector>

#include "rl/config.h"
#include "rl/mismatch.h"
#include "rl/policy_update.h"

namespace minirl::rl {

LossOptions loss_options(const Config& config);
MismatchOptions mismatch_options(const Config& config);
/// What the dial changes in the sampler; weights are the business of rl/rollout_policy.h.
void apply_mismatch(const MismatchOptions& mismatch, SamplerOptions& sampling);
AdvantageOptions advantage_options(const Config& config);

/// Does something need log pi_old: the loss itself or a correction?
bool needs_recomputed(const Algorithm& algorithm, const Config& config);
/// Does something need log pi_ref?
bool needs_reference(const Algorithm& algorithm, const Config& config);

/// A reason why a combination of settings cannot be trained, with the key to blame and what to do.
struct LossConflict {
  std::string key, message, hint;
};
/// Everything in which the loss' traits and the surrounding settings do not fit together. The trainer
/// serves every combination for which this is empty.
std::vector<LossConflict> loss_conflicts(const Algorithm& algorithm, const Config& config);

}  // namespace minirl::rl
