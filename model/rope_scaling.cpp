#include "model/rope_scaling.h"

#include <algorithm>
#include <cmath>

#include "core/fmath.h"

namespace minirl {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// (rope.5): waves that fit often into the trained length stay, those that hardly fit are stretched,
// and the ones between are mixed.
double llama3(const RopeScaling& s, double frequency) {
  const double wavelength = kTwoPi / frequency;
  const auto trained = static_cast<double>(s.original_max_positions);
  if (wavelength > trained / s.low_freq_factor) {
    return frequency / s.factor;
  }
  if (wavelength < trained / s.high_freq_factor) {
    return frequency;
  }
  const double keep =
      (trained / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1 - keep) * frequency / s.factor + keep * frequency;
}

// (rope.6): the pair, as a real number, that makes `turns` turns over the trained length.
double yarn_dimension(const ModelConfig& c, double turns) {
  const auto trained = static_cast<double>(c.rope_scaling.original_max_positions);
  return static_cast<double>(c.head_dim) * fmath::log(trained / (turns * kTwoPi)) /
         (2 * fmath::log(c.rope_theta));
}

// (rope.7), (rope.8)
void yarn(const ModelConfig& c, std::vector<double>& frequency) {
  const RopeScaling& s = c.rope_scaling;
  double low = yarn_dimension(c, s.beta_fast);
  double high = yarn_dimension(c, s.beta_slow);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(c.head_dim - 1));
  if (low == high) {
    high += 0.001;  // as the reference implementation does: a ramp needs a width
  }
  for (std::size_t i = 0; i < frequency.size(); ++i) {
    const double stretch = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequency[i] = frequency[i] / s.factor * stretch + frequency[i] * (1 - stretch);
  }
}

// (rope.9)
double yarn_magnitude(const RopeScaling& s) {
  const auto part = [&](double weight) {
    return s.factor <= 1 ? 1.0 : 0.1 * weight * fmath::log(s.factor) + 1.0;
  };
  if (s.attention_factor > 0) {
    return s.attention_factor;
  }
  return s.mscale > 0 && s.mscale_all_dim > 0 ? part(s.mscale) / part(s.mscale_all_dim) : part(1);
}

}  // namespace

RopeFrequencies rope_frequencies(const ModelConfig& c) {
  RopeFrequencies out;
  for (Index i = 0; i < c.head_dim / 2; ++i) {
    out.frequency.push_back(fmath::pow(
        c.rope_theta, -2.0 * static_cast<double>(i) / static_cast<double>(c.head_dim)));
  }
  switch (c.rope_scaling.kind) {
    case RopeScaling::Kind::none:
      break;
    case RopeScaling::Kind::linear:  // (rope.4)
      for (double& f : out.frequency) {
        f /= c.rope_scaling.factor;
      }
      break;
    case RopeScaling::Kind::llama3:
      for (double& f : out.frequency) {
        f = llama3(c.rope_scaling, f);
      }
      break;
    case RopeScaling::Kind::yarn:
      yarn(c, out.frequency);
      out.magnitude = yarn_magnitude(c.rope_scaling);
      break;
  }
  return out;
}

std::string_view name(RopeScaling::Kind kind) {
  switch (kind) {
    case RopeScaling::Kind::linear:
      return "linear";
    case RopeScaling::Kind::llama3:
      return "llama3";
    case RopeScaling::Kind::yarn:
      return "yarn";
    default:
      return "default";
  }
}

}  // namespace minirl
