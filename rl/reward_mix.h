// minirl rl/reward_mix.h -- several rewards added with weights.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rl/reward.h"

namespace minirl::rl {

class RewardCommand;

struct WeightedReward {
  const RewardInfo* reward = nullptr;
  double weight = 1;
};

/// "think_format 0.2, repetition 1": names of registered rewards of form and their weights. Fails
/// with Exit::usage on an unknown name, a weight that is not a positive number, a name given twice
/// or a reward of answers, which only reward.name chooses.
std::vector<WeightedReward> parse_extra_rewards(std::string_view text);
/// What is wrong with the text; "" if nothing.
std::string extra_rewards_fault(std::string_view text, double weight);

/// The sum of weight * score over `extra`. Each is a function of the completion alone.
double extra_score(const std::vector<WeightedReward>& extra, std::string_view completion);

}  // namespace minirl::rl
