// minirl rl/policy_metrics.h -- what happened to the policy in one optimizer step, over its
// response tokens that the loss mask keeps. Raw ratios, before any cap. docs/math/policy_loss.md
// (met.1) ...
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "rl/algorithm.h"

namespace minirl::rl {

struct Metric {
  std::string key;
  double value = 0;
  std::string unit;
  std::string definition;  // with its denominator
};

/// A sum and the extremes of what was added, in the order of the calls.
class Accumulator {
 public:
  void add(double x) {
    sum_ += x;
    sum2_ += x * x;
    count_ += 1;
    max_ = x > max_ || !(x == x) ? x : max_;
    min_ = x < min_ || !(x == x) ? x : min_;
  }
  void merge(const Accumulator& other);
  double count() const { return count_; }
  double sum() const { return sum_; }
  double mean() const { return count_ > 0 ? sum_ / count_ : 0; }
  double mean_square() const { return count_ > 0 ? sum2_ / count_ : 0; }
  double max() const { return count_ > 0 ? max_ : 0; }
  double min() const { return count_ > 0 ? min_ : 0; }
  double std() const;  // with n - 1

 private:
  double sum_ = 0, sum2_ = 0, count_ = 0;
  double max_ = -std::numeric_limits<double>::infinity();
  double min_ = std::numeric_limits<double>::infinity();
};

class PolicyMetrics {
 public:
  explicit PolicyMetrics(const Traits& traits) : traits_(traits) {}

  /// Adds one sequence. `results` are those of Algorithm::evaluate (not aggregated); `entropies`
  /// (nats) has one entry a token or is empty.
  void add(const SequenceView& sequence, std::span<const TokenResult> results,
           std::span<const float> entropies = {});
  void add(std::span<const TokenInput> tokens, std::span<const TokenResult> results,
           std::span<const float> entropies = {});
  /// Adds what another one gathered, as if its sequences came after ours.
  void merge(const PolicyMetrics& other);

  /// In a fixed order; a key is there iff it has a meaning for the loss (Traits) and data.
  std::vector<Metric> finish() const;

 private:
  Traits traits_;
  Accumulator ratio_, log_ratio_, half_square_, k3_, log_diff_, shift_, abs_shift_, entropy_,
      weight_, penalty_, loss_;
  Accumulator reference_k1_, reference_k3_;
  Accumulator mismatch_, mismatch_k3_, mismatch_ratio_, mismatch_shift_;
  double tokens_ = 0, positive_ = 0, negative_ = 0, left_out_ = 0;
  double masked_positive_ = 0, masked_negative_ = 0, bad_update_ = 0, nonzero_ = 0;
  std::array<double, 32> reasons_{};
};

}  // namespace minirl::rl
