// minirl rl/algorithms/gspo.cpp -- GSPO: one ratio a sequence, the geometric mean of its tokens'
// ratios.
//   s = exp(mean_t log r'_t);  l_seq = max(-A s, -A clip(s, 1 - clip_low, 1 + clip_high)) (gspo.1)
//   d l_seq / d log pi_t = -A s M / T (gspo.2)
// T and the mean are over the tokens that the loss mask keeps. Every token carries l_seq and -A s
// M; the factor 1/T is that of seq-mean-token-mean (agg.3).
#include <cmath>

#include "core/fmath.h"
#include "rl/algorithm_registry.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

Traits traits_of(Anchor anchor) {
  Traits traits;
  traits.needs_recomputed = anchor == Anchor::recomputed;
  traits.weight_anchor = anchor;
  traits.sequence_level = true;
  traits.needs_seq_mean_token_mean = true;
  traits.ratio_form = true;
  return traits;
}

class Gspo final : public Algorithm {
 public:
  Gspo(double low, double high, Anchor anchor)
      : Algorithm(traits_of(anchor)), low_(low), high_(high), anchor_(anchor) {}

  WeightRange weight_range() const override {
    return {0, 1, true,
            fmt::format("w = 1 for every token of a sequence, or 0 for all of them once A > 0 and "
                        "s > {}, or A < 0 and s < {}",
                        1 + high_, 1 - low_)};
  }

 private:
  void compute(std::span<const TokenInput> tokens, std::span<TokenResult> results) const override {
    double sum = 0;
    double advantage = 0;
    double count = 0;
    for (const TokenInput& t : tokens) {
      if (!t.active) {
        continue;
      }
      sum += t.at(anchor_).log_ratio;
      advantage += t.advantage;
      count += 1;
    }
    if (count == 0) {
      return;
    }
    advantage /= count;
    const double mean = sum / count;
    const bool beyond = std::fabs(mean) > kLogRatioLimit;
    const double s = fmath::exp(beyond ? (mean > 0 ? kLogRatioLimit : -kLogRatioLimit) : mean);
    std::uint32_t reasons = 0;
    reasons |= s > 1 + high_ ? MaskReason::outside_upper : 0U;
    reasons |= s < 1 - low_ ? MaskReason::outside_lower : 0U;
    if ((advantage > 0 && s > 1 + high_) || (advantage < 0 && s < 1 - low_)) {
      reasons |= MaskReason::sequence_clipped;
    }
    if (beyond) {
      reasons |= MaskReason::saturated;
    }
    const double clipped = s > 1 + high_ ? 1 + high_ : (s < 1 - low_ ? 1 - low_ : s);
    const double plain = -advantage * s + 0.0;
    const double bounded = -advantage * clipped + 0.0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      TokenResult out;
      out.ratio = s;
      out.divergence = binary_tv(tokens[i].at(anchor_).p, tokens[i].pi);
      out.reasons = reasons;
      out.loss = plain < bounded ? bounded : plain;
      out.weight = out.masked() ? 0 : 1;
      out.dlogp = out.masked() ? 0 : plain;
      results[i] = out;
    }
  }

  double low_, high_;
  Anchor anchor_;
};

const bool registered = register_algorithm({
    .name = "gspo",
    .summary = "one clipped ratio per sequence: the geometric mean of the token ratios",
    .formula = "s = exp(mean log r'); l = max(-A s, -A clip(s, 1 - clip_low, 1 + clip_high)), mean "
               "over sequences (gspo.1)",
    .page = "gspo.md",
    .traits = traits_of(Anchor::recomputed),
    .params = {real_spec("clip_low", 3e-4, between(0, 1), "lower bound of s is 1 - clip_low"),
               real_spec("clip_high", 4e-4, at_least(0), "upper bound of s is 1 + clip_high"),
               anchor_spec("anchor", "recomputed", "the frozen policy below the ratio")},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Gspo>(real_param(p, "clip_low"), real_param(p, "clip_high"),
                                    anchor_param(p, "anchor"));
    },
});

}  // namespace
}  // namespace minirl::rl
