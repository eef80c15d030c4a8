#include "rl/dynamic_sampling.h"

namespace minirl::rl {

DynamicSampling::DynamicSampling(const DynamicSamplingOptions& options) : options_(options) {
  MINIRL_CHECK(options.prompts > 0 && options.max_batches >= 0,
               "{} prompts wanted, at most {} batches", options.prompts, options.max_batches);
}

bool DynamicSampling::offer(std::span<const double> scores) {
  MINIRL_CHECK(!scores.empty(), "a group without completions");
  ++offered_;
  if (full()) {
    ++surplus_;
    return false;
  }
  double low = scores[0];
  double high = scores[0];
  for (const double s : scores) {
    low = s < low ? s : low;
    high = s > high ? s : high;
  }
  const bool informative =
      scores.size() == 1 ? options_.keep_single : high - low > options_.tolerance;
  if (informative) {
    ++kept_;
    return true;
  }
  if (low >= 1) {
    ++all_high_;
  } else if (high <= 0) {
    ++all_low_;
  } else {
    ++all_same_;
  }
  return false;
}

void DynamicSampling::end_batch() {
  ++batches_;
  if (full() || options_.max_batches == 0 || batches_ < options_.max_batches) {
    return;
  }
  fail(Exit::data,
       fmt::format("dynamic sampling: after {} batches only {} of {} prompts have completions that "
                   "differ ({} all right, {} all wrong, {} all the "
                   "same)",
                   batches_, kept_, options_.prompts, all_high_, all_low_, all_same_),
       all_high_ > all_low_ ? "the task is too easy for this policy: use harder prompts, a larger "
                              "group_size, or switch dynamic sampling off"
                            : "the task is too hard for this policy: use easier prompts, a larger "
                              "group_size, or switch dynamic sampling off");
}

}  // namespace minirl::rl
