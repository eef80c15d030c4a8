// minirl rl/algorithms/drpo.cpp -- DRPO: SPO's quadratic with the curvature scaled by mu, so that
// the weight depends on the change of probability |pi - mu| and not on the ratio.
//   l = -A r + |A| mu (r - 1)^2 / (2 delta)                                               (drpo.1)
//   g = -A r w,  w = 1 - sgn(A (r - 1)) |pi - mu| / delta                                 (drpo.2)
#include <cmath>

#include "rl/algorithm_registry.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

Traits traits_of(Anchor anchor) {
  Traits traits;
  traits.needs_recomputed = anchor == Anchor::recomputed;
  traits.weight_anchor = anchor;
  traits.ratio_form = true;
  traits.penalty_key = "drpo_penalty_mean";
  return traits;
}

class Drpo final : public TokenAlgorithm {
 public:
  Drpo(double delta, Anchor anchor)
      : TokenAlgorithm(traits_of(anchor)), delta_(delta), anchor_(anchor) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(anchor_);
    const double r = a.ratio;
    const double mu = a.p;
    const double size = std::fabs(t.advantage);
    TokenResult out;
    out.ratio = r;
    out.divergence = binary_tv(mu, t.pi);
    out.penalty = size * mu * (r - 1) * (r - 1) / (2 * delta_);
    out.loss = -t.advantage * r + out.penalty;
    out.reasons |= t.pi - mu > delta_ ? MaskReason::outside_upper : 0U;  // r > 1 + delta/mu
    out.reasons |= mu - t.pi > delta_ ? MaskReason::outside_lower : 0U;  // r < 1 - delta/mu
    if (std::fabs(a.log_ratio) > kLogRatioLimit) {
      out.reasons |= MaskReason::saturated;
      return out;
    }
    // The derivative of (drpo.1), not -A r w: the two are compared in tests to 1e-12.
    out.dlogp = -t.advantage * r + size * mu * (r - 1) * r / delta_;
    const double pull = out.divergence / delta_;
    out.weight = t.advantage * (r - 1) > 0 ? 1 - pull : 1 + pull;
    if (out.weight < 0) {
      out.reasons |= MaskReason::corrective;
    }
    return out;
  }

  WeightRange weight_range() const override {
    const double low = 1 - 1 / delta_;
    const double high = 1 + 1 / delta_;
    const std::string range = fmt::format(
        "w = 1 - sgn(A (r - 1)) |pi - mu| / {} lies in [{:.4g}, {:.4g}]", delta_, low, high);
    if (delta_ >= 1) {
      return {low, high, false,
              range + fmt::format("; |pi - mu| is at most 1, so the boundary {} cannot be reached: "
                                  "no token is ever pulled "
                                  "back, clipfrac_upper and clipfrac_lower stay 0, and the loss is "
                                  "the plain policy gradient "
                                  "within {:.3g}%",
                                  delta_, 100 / delta_)};
    }
    return {low, high, true,
            range + fmt::format("; w = 0 where |pi - mu| = {}, negative (pulling back) beyond. The "
                                "bound is on w, not on the "
                                "gradient: |g| = |A| r |w| and r is not bounded",
                                delta_)};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p - delta_, p + delta_};
  }

 private:
  double delta_;
  Anchor anchor_;
};

const bool registered = register_algorithm({
    .name = "drpo",
    .summary = "smooth quadratic regulariser on the change of probability: DPPO's trust region "
               "without a hard mask",
    .formula = "l = -A r + |A| mu (r - 1)^2 / (2 delta); w = 1 - sgn(A (r - 1)) |pi - mu| / delta "
               "(drpo.1) (drpo.2)",
    .page = "drpo.md",
    .traits = traits_of(Anchor::rollout),
    .params = {real_spec("delta", std::nullopt, above(0),
                         "the change of probability |pi - mu| at which the weight is 0",
                         "there is no default because the paper's 12.5 can never be reached (it "
                         "makes DRPO the plain "
                         "policy gradient within 8%): delta = 0.2 is comparable with DPPO; the "
                         "presets drpo_tv and "
                         "drpo_paper set 0.2 and 12.5"),
               anchor_spec("anchor", "rollout", "the frozen policy that pi is compared with")},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Drpo>(real_param(p, "delta"), anchor_param(p, "anchor"));
    },
});

}  // namespace
}  // namespace minirl::rl
