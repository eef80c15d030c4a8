// minirl rl/algorithms/gmpo.cpp -- GMPO: the geometric mean of token ratios that are clipped one by
// one, in log space.
//   x_t = log r'_t;  A > 0: x~ = min(x, clip_high);  A < 0: x~ = max(x, -clip_low) (gmpo.1) l_seq =
//   -A exp(mean_t x~_t);  d l_seq / d log pi_t = -A exp(mean x~) / T, 0 where clipped  (gmpo.2)
// Strict. Every token carries l_seq and -A exp(mean x~); the factor 1/T is that of
// seq-mean-token-mean (agg.3).
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

class Gmpo final : public Algorithm {
 public:
  Gmpo(double low, double high, Anchor anchor)
      : Algorithm(traits_of(anchor)), low_(low), high_(high), anchor_(anchor) {}

  WeightRange weight_range() const override {
    return {0, kInfinity, true,
            fmt::format("w = (geometric mean of the clipped ratios) / r of the token; 0 once A > 0 "
                        "and log r > {}, or A < 0 and log r < {}",
                        high_, -low_)};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p * fmath::exp(-low_), p * fmath::exp(high_)};
  }

 private:
  void compute(std::span<const TokenInput> tokens, std::span<TokenResult> results) const override {
    double count = 0;
    double advantage = 0;
    for (const TokenInput& t : tokens) {
      count += t.active ? 1 : 0;
      advantage += t.active ? t.advantage : 0;
    }
    if (count == 0) {
      return;
    }
    advantage /= count;
    double sum = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const TokenInput::AgainstAnchor& a = tokens[i].at(anchor_);
      TokenResult out;
      out.ratio = a.ratio;
      out.divergence = binary_tv(a.p, tokens[i].pi);
      double x = a.log_ratio;
      if (x > high_) {
        out.reasons |= MaskReason::outside_upper;
      }
      if (x < -low_) {
        out.reasons |= MaskReason::outside_lower;
      }
      if (advantage > 0 && x > high_) {
        out.reasons |= MaskReason::clipped_high;
        x = high_;
      }
      if (advantage < 0 && x < -low_) {
        out.reasons |= MaskReason::clipped_low;
        x = -low_;
      }
      sum += tokens[i].active ? x : 0;
      results[i] = out;
    }
    const double mean = sum / count;
    const bool beyond = mean > kLogRatioLimit || mean < -kLogRatioLimit;
    const double geometric =
        fmath::exp(beyond ? (mean > 0 ? kLogRatioLimit : -kLogRatioLimit) : mean);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      TokenResult& out = results[i];
      out.loss = -advantage * geometric + 0.0;
      if (beyond) {
        out.reasons |= MaskReason::saturated;
      }
      if (out.masked()) {
        continue;
      }
      out.dlogp = out.loss;
      out.weight = geometric / out.ratio;
    }
  }

  double low_, high_;
  Anchor anchor_;
};

const bool registered = register_algorithm({
    .name = "gmpo",
    .summary = "geometric mean of token ratios, each clipped on one side in log space",
    .formula = "l = -A exp(mean x~), x~ = min(log r', clip_high) for A > 0, max(log r', -clip_low) "
               "for A < 0, mean over sequences (gmpo.1) (gmpo.2)",
    .page = "gmpo.md",
    .traits = traits_of(Anchor::recomputed),
    .params = {real_spec("clip_low", 0.4, at_least(0),
                         "log-ratios below -clip_low are clipped for A < 0 (nats)"),
               real_spec("clip_high", 0.4, at_least(0),
                         "log-ratios above clip_high are clipped for A > 0 (nats)"),
               anchor_spec("anchor", "recomputed", "the frozen policy below the ratio")},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Gmpo>(real_param(p, "clip_low"), real_param(p, "clip_high"),
                                    anchor_param(p, "anchor"));
    },
});

}  // namespace
}  // namespace minirl::rl
