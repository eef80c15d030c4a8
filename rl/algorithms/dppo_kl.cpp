// minirl rl/algorithms/dppo_kl.cpp -- DPPO with the Binary KL divergence mu -> pi of the sampled
// token.
//   g = -A min(r, C) M,  M = 0 iff A > 0, pi > mu and KL > delta,  A < 0, pi < mu and KL > delta
//   (dppo.1) (dppo.4)
// All strict.
#include "core/fmath.h"
#include "rl/algorithm_registry.h"
#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

class DppoKl final : public TokenAlgorithm {
 public:
  DppoKl(double delta, Anchor mask_anchor, const WeightOptions& weight)
      : TokenAlgorithm(masked_traits(mask_anchor, weight.anchor)),
        delta_(delta),
        mask_anchor_(mask_anchor),
        weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(mask_anchor_);
    const double kl = binary_kl(a.p, a.log_p, t.log_pi);
    std::uint32_t reasons = 0;
    if (kl > delta_ && t.pi > a.p) {
      reasons |= MaskReason::outside_upper;
      if (t.advantage > 0) {
        reasons |= MaskReason::divergence_positive;
      }
    }
    if (kl > delta_ && t.pi < a.p) {
      reasons |= MaskReason::outside_lower;
      if (t.advantage < 0) {
        reasons |= MaskReason::divergence_negative;
      }
    }
    TokenResult out = masked_result(t, weight_, reasons);
    out.divergence = kl;
    return out;
  }

  WeightRange weight_range() const override {
    return {0, 1, true,
            masked_weight_words(
                weight_, fmt::format("moving away and KL of (token, rest) from {} > {} nats",
                                     mask_anchor_ == Anchor::rollout ? "mu" : "pi_old", delta_))};
  }
  std::optional<Boundary> boundary(double p) const override {
    if (!(p > 0 && p < 1)) {
      return std::nullopt;
    }
    return Boundary{crossing(p, 0), crossing(p, 1)};
  }

 private:
  /// The probability between p and `end` at which the divergence passes delta; +-inf if it never
  /// does.
  double crossing(double p, double end) const {
    const double log_p = fmath::log(p);
    const auto inside = [&](double pi) { return !(binary_kl(p, log_p, fmath::log(pi)) > delta_); };
    if (inside(end)) {
      return end == 0 ? -kInfinity : kInfinity;
    }
    double near = p;
    double far = end;
    for (int i = 0; i < 80; ++i) {
      const double middle = 0.5 * (near + far);
      (inside(middle) ? near : far) = middle;
    }
    return near;
  }

  double delta_;
  Anchor mask_anchor_;
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "dppo_kl",
    .summary = "DPPO-Binary-KL: hard mask on the KL divergence between (token, everything else) "
               "under mu and pi",
    .formula = "g = -A min(r, cap) M; M = 0 iff moving away and mu log(mu/pi) + (1-mu) "
               "log((1-mu)/(1-pi)) > delta "
               "(dppo.1) (dppo.4)",
    .page = "dppo.md",
    .traits = {},
    .params = {real_spec("delta", 0.05, above(0), "threshold of the Binary KL; usual: 0.05"),
               cap_spec(), mask_anchor_spec("rollout"), weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      WeightOptions weight{anchor_param(p, "weight_anchor"), real_param(p, "cap"), 0};
      return std::make_unique<DppoKl>(real_param(p, "delta"), anchor_param(p, "mask_anchor"),
                                      weight);
    },
});

}  // namespace
}  // namespace minirl::rl
