// minirl rl/algorithms/ipo.cpp -- IPO: a mask on |pi - mu| that does not ask for the direction, and
// a squared log-ratio over all tokens.
//   l = -A r M + kl_tau (log r)^2,  M = 0 iff |pi - mu| > delta                            (ipo.1)
//   g = -A r M + 2 kl_tau log r                                                            (ipo.2)
// Strict.
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
  traits.penalty_key = "ipo_penalty_mean";
  return traits;
}

class Ipo final : public TokenAlgorithm {
 public:
  Ipo(double delta, double kl_tau, Anchor anchor)
      : TokenAlgorithm(traits_of(anchor)), delta_(delta), kl_tau_(kl_tau), anchor_(anchor) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(anchor_);
    TokenResult out;
    out.ratio = a.ratio;
    out.divergence = binary_tv(a.p, t.pi);
    if (t.pi - a.p > delta_) {
      out.reasons |= MaskReason::outside_upper;
    }
    if (a.p - t.pi > delta_) {
      out.reasons |= MaskReason::outside_lower;
    }
    if (out.divergence > delta_) {
      out.reasons |= MaskReason::divergence_any_sign;
    }
    if (std::fabs(a.log_ratio) > kLogRatioLimit) {
      out.reasons |= MaskReason::saturated;
    }
    out.penalty = kl_tau_ * a.log_ratio * a.log_ratio;
    out.loss = out.penalty;
    out.dlogp = 2 * kl_tau_ * a.log_ratio;
    if ((out.reasons & MaskReason::divergence_any_sign) == 0) {
      out.loss += -t.advantage * a.ratio + 0.0;
      if (!out.masked()) {
        out.weight = 1;
        out.dlogp += -t.advantage * a.ratio + 0.0;
      }
    }
    return out;
  }
  WeightRange weight_range() const override {
    return {
        0, 1, delta_ < 1,
        fmt::format(
            "w = 1, or 0 where |pi - mu| > {} whatever the direction: a token that comes back is "
            "dropped too{}{}",
            delta_, delta_ < 1 ? "" : "; |pi - mu| is at most 1, so the boundary cannot be reached",
            kl_tau_ > 0
                ? fmt::format("; {} (log r)^2 is added for every token, dropped or not", kl_tau_)
                : "")};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p - delta_, p + delta_};
  }

 private:
  double delta_, kl_tau_;
  Anchor anchor_;
};

const bool registered = register_algorithm({
    .name = "ipo",
    .summary = "mask on |pi - mu| without a test of the direction, optional squared log-ratio on "
               "all tokens",
    .formula = "l = -A r M + kl_tau (log r)^2; M = 0 iff |pi - mu| > delta (ipo.1)",
    .page = "ipo.md",
    .traits = traits_of(Anchor::rollout),
    .params = {real_spec("delta", 0.1, above(0), "threshold of |pi - mu|"),
               real_spec("kl_tau", 0.0, at_least(0), "factor of (log r)^2; usual: 0 or 0.001"),
               anchor_spec("anchor", "rollout",
                           "the frozen policy below the ratio and of the mask")},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Ipo>(real_param(p, "delta"), real_param(p, "kl_tau"),
                                   anchor_param(p, "anchor"));
    },
});

}  // namespace
}  // namespace minirl::rl
