// minirl autograd/gradcheck.h -- backward against differences of forward, in fp64.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/param.h"
#include "autograd/tape.h"

namespace minirl {

struct GradCheckResult {
  double worst = 0;         // largest |analytic - numeric| / (largest |numeric| of the same tensor + floor)
  std::string where;        // "input 1 [17]" or "model.norm.weight [3]"
  double analytic = 0, numeric = 0;
  Index coordinates = 0;    // how many were compared
};

struct GradCheckOptions {
  double step = 1e-3;            // of the five-point stencil: truncation O(step^4)
  Index max_coordinates = 0;     // per tensor, evenly spread; 0 = all
  double floor = 1e-6;           // below this a gradient counts as zero
};

/// Checks d <seed, build(inputs)> / d(input) for every coordinate of every input and parameter. `build`
/// must be a pure function of the inputs and parameter values; all tensors are f64. The seed is a fixed
/// pseudo-random tensor, so that every output takes part.
GradCheckResult gradcheck(const std::function<Var(Tape&, std::span<const Var>)>& build, std::span<Tensor> inputs,
                          std::span<Param* const> params, const Exec& exec, const GradCheckOptions& options = {});

}  // namespace minirl
