// minirl rl/policy_update.h -- one optimizer step of the policy on a mini-batch of rollouts.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "rl/aggregation.h"
#include "rl/algorithm.h"
#include "rl/kl_penalty.h"
#include "rl/micro_batch.h"
#include "rl/optimizer.h"
#include "rl/policy_metrics.h"
#include "rl/rollout.h"
#include "rl/rollout_correction.h"

namespace minirl::rl {

/// A rollout and what is frozen about it before the first update.
struct TrainItem {
  const Group* group = nullptr;
  const Rollout* rollout = nullptr;
  std::vector<float> logp_recomputed = {};       // (T) log pi_old, if something needs it
  std::vector<float> topk_logp_recomputed = {};  // (T, K) of the recorded ids under pi_old
  std::vector<float> logp_reference = {};        // (T) log pi_ref, if there is a penalty
  std::vector<double> token_advantages = {};     // (T); empty: rollout->advantage for every token
  bool left_out = false;                         // by the loss mask, as a whole
};

/// Everything that turns the scalars of tokens into one loss.
struct LossOptions {
  AggMode agg_mode = AggMode::seq_mean_token_sum_norm;
  double horizon = 1;  // tokens
  FullyMasked fully_masked = FullyMasked::count;
  CorrectionOptions correction;
  KlOptions kl;             // coefficient 0: none
  double entropy_coef = 0;  // loss -= entropy_coef * H, aggregated like the loss
};

struct UpdateOptions {
  LossOptions loss;
  MicroBatchOptions micro;
  double learning_rate = 0;
  bool expect_ratio_one = false;  // first update after a rollout: every ratio must be exactly 1
  std::vector<Token> end_tokens = {};  // what a stopped completion must end with; empty: anything
  GradientWitness gradients = {};      // sees the gradient of the update before clipping
};

struct UpdateReport {
  double loss = 0;          // aggregated, with every term
  double kl_loss = 0;       // of which: coefficient times the penalty
  double entropy_loss = 0;  // of which: the entropy bonus (negative)
  std::uint32_t logp_ulp_max = 0;  // largest distance of log pi and log mu over tokens that the loss mask keeps
  OptimizerReport optimizer;
  MicroBatchReport micro;
};

/// One sequence of a mini-batch as the loss sees it; told in order, before the optimizer's step.
struct SequenceOutcome {
  std::size_t index = 0;  // of the item
  std::span<const TokenInput> tokens;
  std::span<const TokenResult> results;  // every term added, not aggregated
  std::span<const float> entropy;        // nats; empty unless computed
  double token_weight = 0;               // of the aggregation
};
using SequenceWitness = std::function<void(const SequenceOutcome&)>;

/// The loss of one sequence: fills `results` with every term added and adds their values, times `weight`, to
/// `report`. Gives d loss / d entropy of every token, aggregated. `entropy` (T) is read where the loss has a bonus.
double add_sequence_loss(const Algorithm& algorithm, const LossOptions& loss, std::span<const TokenInput> tokens, std::span<const double> entropy,
                         double weight, bool left_out, std::vector<TokenResult>& results, UpdateReport& report);

/// (T) whether the sampled token is among the K recorded ids; empty for K = 0.
std::vector<std::uint8_t> topk_has_sampled(const Rollout& rollout, Index topk);

/// What an item says about its tokens, the live log-probabilities apart.
SequenceView frozen_view(const TrainItem& item);

/// Forward, loss and backward of a mini-batch: adds to the gradients of `model`, changes no weight. Throws
/// Error(invariant) when a tripwire is touched (rl/tripwires.h); the gradients are zero then.
UpdateReport accumulate_policy_gradient(Decoder& model, const Algorithm& algorithm, std::span<const TrainItem> items, const UpdateOptions& options,
                                        const Exec& exec, const SequenceWitness& witness);

/// The same, then AdamW. Nothing is updated when it throws. `metrics` gets every token, and so does `witness`
/// before the weights change.
UpdateReport update_policy(Decoder& model, Optimizer& optimizer, const Algorithm& algorithm, std::span<const TrainItem> items,
                           const UpdateOptions& options, const Exec& exec, PolicyMetrics& metrics, const SequenceWitness& witness = {});

/// One supervised step: the loss is the mean over all completion tokens of -log pi.        (sft.1)
UpdateReport update_supervised(Decoder& model, Optimizer& optimizer, std::span<const ScoredSequence> sequences, const MicroBatchOptions& micro,
                               double learning_rate, const Exec& exec, const GradientWitness& gradients = {});

}  // namespace minirl::rl
