// minirl rl/rollout.h -- prompts to groups of scored completions.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/example.h"
#include "data/prompt.h"
#include "data/tokenizer.h"
#include "model/sampler.h"
#include "rl/advantage.h"
#include "rl/reward.h"
#include "rl/reward_command.h"
#include "rl/reward_mix.h"

namespace minirl::rl {

/// One sample of one prompt. ids and logp have one entry a sampled token, the stop token included.
struct Rollout {
  std::vector<Token> ids;
  std::vector<float> logp;    // log mu in nats, recorded while sampling, never changed
  std::vector<Token> topk_ids;   // (T, K) the most likely ids of every position, if recorded ...
  std::vector<float> topk_logp;  // ... and their log mu
  bool stopped = false;       // by a stop token; otherwise truncated at max_new_tokens
  std::string text;           // decoded without control tokens: what the reward sees
  double reward = 0;          // after truncation rules
  double kl_penalty = 0;      // subtracted from it before advantages, where the penalty is in the reward
  RewardResult verdict;       // of the reward function itself
  double advantage = 0;
};

/// The samples of one prompt.
struct Group {
  data::Example example;
  std::vector<Token> prompt;
  std::vector<Rollout> rollouts;
  AdvantageReport report;
};

/// What becomes of the reward of a completion that reached max_new_tokens without a stop token.
enum class TruncatedReward { zero, keep, soft };

struct RewardOptions {
  const RewardInfo* reward = nullptr;
  TruncatedReward truncated = TruncatedReward::zero;
  Index max_new_tokens = 0;
  Index soft_buffer = 0;     // soft: tokens before the limit over which the penalty grows ...
  double soft_penalty = 1;   // ... from 0 to this
  double weight = 1;         // of `reward`
  std::vector<WeightedReward> extra = {};         // rewards of form, added with their weights
  std::shared_ptr<RewardCommand> command = {};    // scores instead of `reward`
};

struct GenerateOptions {
  SamplerOptions sampling;
  Index group_size = 8;
  rng::Key key;  // of this step's sampling; prompt i, sample j uses key.derive(first_prompt + i, j)
  Index first_prompt = 0;  // of the step's further batches (dynamic sampling)
  const data::PromptFormat* format = nullptr;  // none: prompts are encoded as they are
};

/// Samples group_size completions for each example.
std::vector<Group> generate_groups(Decoder& model, const data::Tokenizer& tokenizer, std::span<const data::Example> examples,
                                   const GenerateOptions& options, const Exec& exec, SampleStats* stats = nullptr,
                                   const std::function<bool()>& interrupted = {});

/// Exactly one reward a rollout, by index, on all threads (rewards are pure functions).
void score_groups(std::span<Group> groups, const RewardOptions& options, int threads);

/// Penalty of the soft rule: 0 up to limit - buffer tokens, then falling linearly to -1 at the limit (adv.8).
double soft_length_penalty(Index tokens, Index limit, Index buffer);

void set_advantages(std::span<Group> groups, const AdvantageOptions& options);

/// Means over a step's rollouts, for the log.
struct RolloutSummary {
  double reward_mean = 0, reward_std = 0;
  double length_mean = 0, length_max = 0;       // tokens
  double undecided_frac = 0;                    // of rollouts: beyond the bounds of the reward, scored 0
  double truncated_frac = 0, answered_frac = 0; // of rollouts
  double zero_variance_frac = 0;                // of groups
  double group_std_mean = 0;                    // of the rewards of a group, n - 1; over groups
  double kl_penalty_mean = 0;                   // subtracted from the reward, over rollouts
  double duplicate_frac = 0;                    // of rollouts equal to an earlier one of their group
};
RolloutSummary summarize(std::span<const Group> groups);

}  // namespace minirl::rl
