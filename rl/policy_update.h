// minirl rl/policy_update.h -- one optimizer step of the policy on a mini-batch of rollouts.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "rl/aggregation.h"
#include "rl/algorithm.h"
#include "rl/micro_batch.h"
#include "rl/optimizer.h"
#include "rl/policy_metrics.h"
#include "rl/rollout.h"

namespace minirl::rl {

/// A rollout and what is frozen about it before the first update.
struct TrainItem {
  const Group* group = nullptr;
  const Rollout* rollout = nullptr;
  std::vector<float> logp_recomputed;  // log pi_old, if the algorithm needs it
};

struct UpdateOptions {
  AggMode agg_mode = AggMode::seq_mean_token_sum_norm;
  double horizon = 1;
  FullyMasked fully_masked = FullyMasked::count;
  MicroBatchOptions micro;
  double learning_rate = 0;
  bool expect_ratio_one = false;  // first update after a rollout: every ratio must be exactly 1
};

struct UpdateReport {
  double loss = 0;  // aggregated
  OptimizerReport optimizer;
  MicroBatchReport micro;
};

/// Forward, loss, backward, AdamW. Throws Error(invariant) when `expect_ratio_one` does not hold (the bits of log pi
/// and log mu are compared), or when the loss or a log-probability is not finite: nothing is updated then.
/// `metrics` gets every token.
UpdateReport update_policy(Decoder& model, Optimizer& optimizer, const Algorithm& algorithm, std::span<const TrainItem> items,
                           const UpdateOptions& options, const Exec& exec, PolicyMetrics& metrics);

/// One supervised step: the loss is the mean over all completion tokens of -log pi.        (sft.1)
UpdateReport update_supervised(Decoder& model, Optimizer& optimizer, std::span<const ScoredSequence> sequences, const MicroBatchOptions& micro,
                               double learning_rate, const Exec& exec);

}  // namespace minirl::rl
