// minirl rl/dynamic_sampling.h -- DAPO's filter: prompts whose completions all score the same have
// no gradient; go on sampling until the step has enough prompts that do.
#pragma once
#include <span>
#include <string>

#include "core/error.h"

namespace minirl::rl {

struct DynamicSamplingOptions {
  Index prompts = 0;         // wanted per step
  Index max_batches = 10;    // sampled before giving up; 0: no limit
  double tolerance = 1e-6;   // scores that differ by no more are the same
  bool keep_single = false;  // keep groups of one completion (there is nothing to compare)
};

/// Fed with groups in their order; decides one at a time, so that the choice depends on nothing
/// else.
class DynamicSampling {
 public:
  explicit DynamicSampling(const DynamicSamplingOptions& options);

  /// `scores`: the raw correctness of a group's completions, not the shaped reward. True = train on
  /// it. Groups offered after the step is full are surplus and refused.
  bool offer(std::span<const double> scores);
  bool full() const { return kept_ >= options_.prompts; }
  /// Call when a batch of prompts is used up. Fails with Exit::data when max_batches are spent in
  /// vain.
  void end_batch();

  Index kept() const { return kept_; }
  Index offered() const { return offered_; }
  /// Groups dropped because every completion had the best score / the worst score / one and the
  /// same other one.
  Index all_high() const { return all_high_; }
  Index all_low() const { return all_low_; }
  Index all_same() const { return all_same_; }
  Index surplus() const { return surplus_; }

 private:
  DynamicSamplingOptions options_;
  Index kept_ = 0, offered_ = 0, batches_ = 0;
  Index all_high_ = 0, all_low_ = 0, all_same_ = 0, surplus_ = 0;
};

}  // namespace minirl::rl
