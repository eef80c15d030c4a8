// minirl rl/algorithms/sapo.cpp -- SAPO: a soft gate on the ratio instead of a clip.
//   q = sigmoid(tau (r - 1)),  l = -A (4 / tau) q                                          (sapo.1)
//   g = -A r 4 q (1 - q),  tau = tau_positive for A > 0, tau_negative otherwise            (sapo.2)
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
  traits.ratio_form = true;
  return traits;
}

class Sapo final : public TokenAlgorithm {
 public:
  Sapo(double positive, double negative, Anchor anchor)
      : TokenAlgorithm(traits_of(anchor)),
        positive_(positive),
        negative_(negative),
        anchor_(anchor) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(anchor_);
    const double tau = t.advantage > 0 ? positive_ : negative_;
    const double e = fmath::exp(-tau * (a.ratio - 1));
    const double q = 1 / (1 + e);
    TokenResult out;
    out.ratio = a.ratio;
    out.divergence = binary_tv(a.p, t.pi);
    out.loss = -t.advantage * (4 / tau) * q + 0.0;
    if (std::fabs(a.log_ratio) > kLogRatioLimit) {
      out.reasons |= MaskReason::saturated;
      return out;
    }
    out.weight = 4 * q * (e * q);  // 1 - q = e q, without cancellation
    out.dlogp = -t.advantage * a.ratio * out.weight + 0.0;
    return out;
  }
  WeightRange weight_range() const override {
    return {0, 1, false,
            "w = 4 q (1 - q) lies in (0, 1]: 1 at r = 1, vanishing exponentially as r grows; "
            "nothing is masked or reversed"};
  }

 private:
  double positive_, negative_;
  Anchor anchor_;
};

const bool registered = register_algorithm({
    .name = "sapo",
    .summary = "soft adaptive gate on the ratio: a sigmoid instead of a clip",
    .formula = "l = -A (4/tau) sigmoid(tau (r - 1)), tau = tau_positive for A > 0 and tau_negative "
               "otherwise (sapo.1)",
    .page = "sapo.md",
    .traits = traits_of(Anchor::recomputed),
    .params = {real_spec("tau_positive", 1.0, above(0), "steepness of the gate for A > 0"),
               real_spec("tau_negative", 1.05, above(0), "steepness of the gate for A <= 0"),
               anchor_spec("anchor", "recomputed", "the frozen policy below the ratio")},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Sapo>(real_param(p, "tau_positive"), real_param(p, "tau_negative"),
                                    anchor_param(p, "anchor"));
    },
});

}  // namespace
}  // namespace minirl::rl
