// minirl model/rope_scaling.h -- rotary frequencies of a model, stretched as its config.json says;
// docs/math/rope.md.
#pragma once
#include <string_view>
#include <vector>

#include "model/model_config.h"

namespace minirl {

/// Angle per position of each pair of dimensions, radians, and the factor of all cosines and sines.
struct RopeFrequencies {
  std::vector<double> frequency;  // head_dim / 2
  double magnitude = 1;
};
/// Everything in double.                                                             (rope.4-9)
RopeFrequencies rope_frequencies(const ModelConfig& config);

/// "linear" for Kind::linear, as config.json spells it; "default" for Kind::none.
std::string_view name(RopeScaling::Kind kind);

}  // namespace minirl
