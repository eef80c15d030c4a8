// minirl autograd/logit_filter.h -- top-k and top-p sampling: evaluation only. Training rollouts
// sample the whole distribution (R6), so nothing here is differentiated.
#pragma once
#include "core/error.h"

namespace minirl::ops {

/// Sets the logits of the ids that may not be drawn to -inf. First the `top_k` largest are kept (0:
/// all), then of these the fewest of largest probability softmax(logits / T) whose sum, over those
/// that top_k kept, reaches `top_p` (1: all). Equal logits count in ascending order of id, and sums
/// run in that order: the result is a function of the row alone.
template <class T>
void filter_logits(T* logits, Index vocabulary, double temperature, Index top_k, double top_p);

}  // namespace minirl::ops
