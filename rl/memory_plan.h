// minirl rl/memory_plan.h -- how much memory a run will need, from shapes alone; and what to lower.
#pragma once
#include <string>
#include <vector>

#include "rl/config.h"

namespace minirl::rl {

/// Bytes by category. Weights, gradients, moments, packed forms and the cache follow from the shapes
/// exactly, activations from what the tape keeps.
struct MemoryPlan {
  Index weights = 0;      // parameters as they are stored
  Index gradients = 0;    // fp32; a tied table has two accumulators
  Index moments = 0;      // of AdamW
  Index packed = 0;       // weights in the order of the product y = x W^T
  Index widened = 0;      // one matrix as fp32 or packed, while it is used
  Index copies = 0;       // a reference policy, or weights that only rollouts use
  Index view = 0;         // the weights of before a step as bf16 (rl/update_visibility.h)
  Index kv_cache = 0;     // while sampling
  Index prefill = 0;      // activations of all prompts that start at once, while sampling
  Index activations = 0;  // of the largest micro-batch, while training
  Index program = 0;      // code, libraries, buffers of threads, chunks of logits
  Index sampling() const { return kv_cache + prefill; }
  /// The peak. Sampling and training happen one after the other, and what one leaves idle goes back before the
  /// other takes new memory (core/arena.h).
  Index total() const;
};

/// What of a run decides about its memory.
struct MemoryShape {
  ModelConfig model;
  Index prompt_tokens = 0;  // longest
  Index threads = 1;
};
MemoryPlan plan_memory(const Config& config, const MemoryShape& shape);

/// Settings that would lower the peak by at least a twentieth, with what is left: "train.recompute_layers
/// = true: 5.1 GiB", largest saving first.
std::vector<std::string> memory_advice(const Config& config, const MemoryShape& shape);

/// Memory that this process can get without swapping: MemAvailable, or less where a control group
/// or `ulimit -v` limits it. 0 where unknown.
Index available_memory();

/// Throws Error(out_of_memory) with figures and advice if the plan needs more than `available`.
void require_memory(const Config& config, const MemoryShape& shape, Index available);

/// "1.25 GiB", "61.4 MiB"
std::string binary_bytes(Index bytes);

}  // namespace minirl::rl
