// minirl rl/mismatch.h -- the mismatch dial: a rollout engine that disagrees with the trainer, on
// purpose and by a chosen amount. Each setting reproduces a fault that people meet when two engines
// share one policy. docs/math/mismatch.md says what each does to the metrics.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "model/params.h"

namespace minirl::rl {

/// How the rollout engine stores weights.
enum class RolloutWeights {
  exact,  // the trainer's own
  bf16,   // every tensor, round to nearest even
  e4m3,   // matrices of the layers: 8-bit floats (4 exponent, 3 mantissa bits, largest 448), one
          // scale a row                                                                     (mis.1)
  int8,   // matrices of the layers: 8-bit integers, one scale a row                         (mis.2)
};
RolloutWeights rollout_weights_from_name(std::string_view name);  // Exit::usage, "did you mean"
std::vector<std::string> rollout_weights_names();

struct MismatchOptions {
  RolloutWeights weights = RolloutWeights::exact;
  double logit_noise = 0;  // standard deviation of seeded noise on every logit of the sampler
  Index staleness = 0;     // rollouts come from the weights so many optimizer updates ago
  bool untempered_logp = false;  // tokens drawn at T, log mu recorded at T = 1
  double top_p = 1;  // tokens drawn from the nucleus, log mu recorded without renormalisation

  bool any() const {
    return weights != RolloutWeights::exact || logit_noise > 0 || staleness > 0 ||
           untempered_logp || top_p < 1;
  }
};
/// One line a setting that is on, for plan and log.
std::vector<std::string> mismatch_words(const MismatchOptions& options);

/// The nearest e4m3 number, ties to even mantissa; saturates at +-448; NaN stays NaN.
float round_e4m3(float x);
/// Rounds the values of `params` as an engine of that kind stores them.
void round_weights(Params& params, RolloutWeights kind);

}  // namespace minirl::rl
