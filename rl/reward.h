// minirl rl/reward.h -- rewards by name: a pure function from (gold answer, completion) to a score.
// A reward registers itself from its own file in rl/rewards/.
#pragma once
#include <string>
#include <string_view>

#include "core/registry.h"

namespace minirl::rl {

struct RewardResult {
  double score = 0;
  bool answered = false;  // an answer was found (right or wrong); the share of these is a metric
  std::string extracted;  // the answer as found
  std::string why;        // one clause: "equal numbers", "no \\boxed{}", ...
};

/// Must return in bounded time and memory on any input, and never throw on the completion's
/// account.
using RewardFn = RewardResult (*)(std::string_view gold, std::string_view completion);
/// "" if the gold answer can be compared with, else what is wrong with it.
using GoldCheckFn = std::string (*)(std::string_view gold);

struct RewardInfo {
  std::string name;
  std::string summary;
  std::string instruction;  // what a prompt must ask for, so that prompt and parser agree
  RewardFn score = nullptr;
  GoldCheckFn check_gold = nullptr;
  bool of_form = false;     // reads the completion alone: a part of a sum, never the judge of answers
  bool is_penalty = false;  // of form, and never above 0
};

using Rewards = Registry<RewardInfo>;

/// Fails with Exit::data if the gold answer cannot be scored by this reward; `where`
/// ("train.jsonl:17") begins the message. Called when a data set is loaded, not when step 200 meets
/// it.
void require_gold(const RewardInfo& reward, std::string_view gold, std::string_view where);

}  // namespace minirl::rl
