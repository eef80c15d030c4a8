#include "rl/mismatch.h"

#include <array>
#include <cmath>

#include "core/dtype.h"
#include "core/registry.h"

namespace minirl::rl {
namespace {

constexpr std::array<std::string_view, 4> kNames{"exact", "bf16", "e4m3", "int8"};
constexpr float kLargestE4m3 = 448.0F;

// Embedding, head and norms stay as they are in the engines that store layers in 8 bits.
bool is_layer_matrix(const Param& p) {
  return p.value.shape().rank == 2 && p.name.find(".layers.") != std::string::npos;
}

// Every row is scaled so that its largest entry is the largest number of the format.
template <class Round>
void round_rows(Tensor& t, float largest, Round round) {
  const Index columns = t.shape().last();
  float* x = t.data<float>();
  for (Index r = 0; r < t.rows(); ++r, x += columns) {
    float top = 0;
    for (Index j = 0; j < columns; ++j) { top = std::fmax(top, std::fabs(x[j])); }
    if (!(top > 0)) { continue; }
    const float scale = top / largest;
    for (Index j = 0; j < columns; ++j) { x[j] = round(x[j] / scale) * scale; }
  }
}

}  // namespace

std::vector<std::string> rollout_weights_names() { return {kNames.begin(), kNames.end()}; }

RolloutWeights rollout_weights_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) { return static_cast<RolloutWeights>(i); }
  }
  const std::string near = nearest_name(name, rollout_weights_names());
  fail(Exit::usage, fmt::format("unknown kind of rollout weights '{}'", name),
       (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) +
           "known: exact, bf16, e4m3, int8");
}

std::vector<std::string> mismatch_words(const MismatchOptions& o) {
  std::vector<std::string> out;
  if (o.weights != RolloutWeights::exact) {
    out.push_back(fmt::format("rollouts use weights rounded to {}",
                              kNames[static_cast<std::size_t>(o.weights)]));
  }
  if (o.logit_noise > 0) {
    out.push_back(fmt::format("rollouts add noise of deviation {:g} to every logit", o.logit_noise));
  }
  if (o.staleness > 0) {
    out.push_back(fmt::format("rollouts use the weights of {} updates ago", o.staleness));
  }
  if (o.untempered_logp) { out.push_back("log mu is recorded at temperature 1"); }
  if (o.top_p < 1) {
    out.push_back(fmt::format(
        "tokens come from the nucleus top_p = {:g}, log mu is that of the whole vocabulary", o.top_p));
  }
  return out;
}

float round_e4m3(float x) {
  if (!(std::fabs(x) > 0)) { return x; }  // also NaN
  const float size = std::fabs(x);
  int exponent = std::ilogb(size);
  exponent = exponent < -6 ? -6 : exponent;  // below 2^-6 numbers are subnormal: the step stays 2^-9
  const float step = std::ldexp(1.0F, exponent - 3);
  const float rounded = std::nearbyint(size / step) * step;  // ties to even; the division is exact
  return std::copysign(std::fmin(rounded, kLargestE4m3), x);
}

void round_weights(Params& params, RolloutWeights kind) {
  for (Param& p : params.all()) {
    if (kind == RolloutWeights::bf16) {
      for (float& x : p.value.span<float>()) { x = to_float(to_bf16(x)); }
    } else if (kind == RolloutWeights::e4m3 && is_layer_matrix(p)) {
      round_rows(p.value, kLargestE4m3, round_e4m3);
    } else if (kind == RolloutWeights::int8 && is_layer_matrix(p)) {
      round_rows(p.value, 127.0F, [](float x) { return std::nearbyint(x); });
    }
  }
  params.touch();
}

}  // namespace minirl::rl
