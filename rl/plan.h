// minirl rl/plan.h -- the semantics sheet: what a configuration means, before anything is computed.
#pragma once
#include <string>
#include <vector>

#include "rl/config.h"

namespace minirl::rl {

/// Bytes by category. Weights, moments and the cache follow from the shapes; activations are an
/// estimate.
struct MemoryPlan {
  Index weights = 0, gradients = 0, moments = 0, packed = 0, kv_cache = 0, activations = 0;
  Index total() const { return weights + gradients + moments + packed + kv_cache + activations; }
};

struct Plan {
  std::string run, folder;
  std::string config_sha256, results_sha256;
  ModelConfig model;
  Index parameters = 0;
  Index prompts_per_step = 0, completions_per_step = 0, updates_per_step = 0,
        completions_per_update = 0;
  Index steps = 0, updates = 0, completions = 0, pretrain_updates = 0, pretrain_sequences = 0;
  std::string algorithm, summary, formula, advantage, aggregation, anchor;
  double weight_lower = 0, weight_upper = 0;
  bool boundary_reachable = false;
  std::string weight_words;
  std::string sampling, reward, truncation, evaluation, learning_rate, seeds;
  // Penalties, corrections, mismatch, ...: what is not at its default.
  std::vector<std::string> extras;
  bool exact = true;  // the first ratio of every rollout must be 1 to the bit
  std::vector<std::string> stops, warnings;
  MemoryPlan memory;
};

Plan make_plan(const LoadedConfig& loaded);
std::string plan_text(const Plan& plan);
std::string plan_json(const Plan& plan);

/// Numbers in all parameters of a Qwen3 decoder of this shape.
Index parameter_count(const ModelConfig& model);

}  // namespace minirl::rl
