// minirl rl/update_visibility.h -- how much of an update a reader of bf16 weights can see: rollout
// engines, checkpoints and wires often carry the rounded weights, and a small update may not reach
// the next one.
#pragma once
#include <vector>

#include "model/params.h"

namespace minirl::rl {

/// The weights as bf16 (nearest, ties to even) at one moment: two bytes a value.
class Bf16View {
 public:
  void take(const Params& params, const Exec& exec);
  /// How many values of each parameter have another bf16 form now, in the order of parameters.
  /// Needs take() of the same parameters before.
  std::vector<Index> changed(const Params& params, const Exec& exec) const;

 private:
  std::vector<std::vector<Bf16>> values_;
};

}  // namespace minirl::rl
