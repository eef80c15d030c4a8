// minirl rl/optimizer.h -- AdamW with clipping by the global gradient norm. Moments are f32 or bf16.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/params.h"

namespace minirl::rl {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;    // decoupled; matrices only, norms are left out
  double max_grad_norm = 1.0;   // +inf turns clipping off
  DType state = DType::f32;     // of the moments: f32, or bf16 with stochastic rounding
  std::uint64_t seed = 0;       // of stochastic rounding, of bf16 moments and of bf16 weights
};

struct OptimizerReport {
  double grad_norm = 0;  // of the combined gradient before clipping
  double clip = 1;       // factor that was applied
};

using GradientWitness = std::function<void(Params&)>;

class Optimizer {
 public:
  Optimizer(Params& params, AdamWOptions options);

  /// One update with the accumulated gradients, which become zero. Throws Error(invariant), with the
  /// parameter's name, when the gradient is not finite; weights and state are then untouched.
  /// `witness` sees the parameters with the combined gradients in grad(0), before clipping.
  OptimizerReport step(double learning_rate, const Exec& exec, const GradientWitness& witness = {});

  Index steps() const { return steps_; }
  void set_steps(Index steps) { steps_ = steps; }
  /// Moments as (name, tensor) in a fixed order, for checkpoints: "<param>.exp_avg", "<param>.exp_avg_sq".
  std::vector<std::pair<std::string, Tensor>> state();

 private:
  Params& params_;
  AdamWOptions options_;
  std::vector<Tensor> first_, second_;  // m and v, in the order of params
  Index steps_ = 0;
};

/// Global norm of the accumulated gradients (grad(0) of every parameter), in double: blocks of 1024 in
/// order, parameters in order.                                                          (adam.3)
double gradient_norm(Params& params, const Exec& exec);

}  // namespace minirl::rl
