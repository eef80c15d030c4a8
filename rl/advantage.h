// minirl rl/advantage.h -- rewards of a group (the samples of one prompt) to advantages. In double,
// sums in ascending order. docs/math/advantages.md.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace minirl::rl {

enum class AdvantageEstimator {
  group_mean,     // R - m                                (adv.1), with the std option (adv.2)
  leave_one_out,  // R - mean of the others               (adv.4), RLOO
  opo,            // R - length-weighted mean             (adv.5)
  maxrl,          // (R - m) / (m + eps)                  (adv.6)
  pass_at_k,      // best: best - second, others 0        (adv.7)
  raw,            // R itself, no baseline                (adv.0)
};
std::string_view estimator_name(AdvantageEstimator estimator);  // "group-mean", "rloo", ...
AdvantageEstimator estimator_from_name(std::string_view name);  // Exit::usage, "did you mean"
std::vector<std::string> estimator_names();
std::string estimator_words(AdvantageEstimator estimator);

/// What the std option divides by.
enum class StdKind {
  unbiased,       // std with n - 1, plus epsilon         (adv.2)
  population,     // sqrt(variance with n + epsilon)      (adv.3)
  leave_one_out,  // std (n - 1) of the others + epsilon  (adv.4'), only where it is above 0
};

struct AdvantageOptions {
  AdvantageEstimator estimator = AdvantageEstimator::group_mean;
  bool normalize_by_std = false;  // group_mean, leave_one_out, pass_at_k
  StdKind std_kind = StdKind::unbiased;
  double epsilon = 1e-6;
  /// A group whose rewards differ by no more than this has no signal: its advantages are exactly 0.
  double zero_variance_tolerance = 1e-6;
};

struct AdvantageReport {
  double reward_mean = 0;
  double reward_std = 0;       // with n - 1; 0 for a group of one
  bool single = false;         // a group of one: advantage 0, nothing to compare with (warn)
  bool zero_variance = false;  // max - min <= tolerance: advantage 0 (false for a group of one)
};

/// One advantage per reward, in order. `lengths` (tokens per completion) is needed by `opo` only.
/// Fails with Exit::data on a reward that is not finite.
std::vector<double> group_advantages(std::span<const double> rewards,
                                     const AdvantageOptions& options,
                                     AdvantageReport* report = nullptr,
                                     std::span<const Index> lengths = {});

}  // namespace minirl::rl
