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
  // Of the whole batch: batch_advantages only.
  reinforce_pp,           // whitened over all response tokens of the batch                  (adv.9)
  reinforce_pp_baseline,  // R - m, then whitened over all response tokens of the batch (adv.10)
  gpg,  // (R - m) * sequences / sequences with a reward other than 0      (adv.11)
};
std::string_view estimator_name(AdvantageEstimator estimator);  // "group-mean", "rloo", ...
AdvantageEstimator estimator_from_name(std::string_view name);  // Exit::usage, "did you mean"
std::vector<std::string> estimator_names();        // those that group_advantages can serve
std::vector<std::string> batch_estimator_names();  // all: what batch_advantages can serve
std::string estimator_words(AdvantageEstimator estimator);

/// Is it a function of the whole batch, not of one group?
bool needs_whole_batch(AdvantageEstimator estimator);

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

/// What the completions of one prompt came to.
struct GroupOutcome {
  std::vector<double> rewards;
  std::vector<Index>
      lengths;  // response tokens of each completion; needed by opo and (adv.9) (adv.10)
};

/// The advantages of every group of a batch, for every estimator. `reports` gets one entry a group.
std::vector<std::vector<double>> batch_advantages(std::span<const GroupOutcome> groups,
                                                  const AdvantageOptions& options,
                                                  std::vector<AdvantageReport>* reports = nullptr);

}  // namespace minirl::rl
