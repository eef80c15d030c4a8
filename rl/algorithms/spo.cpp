// minirl rl/algorithms/spo.cpp -- Simple Policy Optimization: a smooth quadratic pull on the ratio.
//   l = -A r + |A| (r - 1)^2 / (2 eps)                                                    (spo.1)
//   g = -A r (1 - sgn(A (r - 1)) |r - 1| / eps)                                           (spo.2)
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

class Spo final : public TokenAlgorithm {
 public:
  Spo(double epsilon, Anchor anchor)
      : TokenAlgorithm(traits_of(anchor)), epsilon_(epsilon), anchor_(anchor) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(anchor_);
    const double r = a.ratio;
    const double size = std::fabs(t.advantage);
    TokenResult out;
    out.ratio = r;
    out.divergence = binary_tv(a.p, t.pi);
    out.penalty = size * (r - 1) * (r - 1) / (2 * epsilon_);
    out.loss = -t.advantage * r + out.penalty;
    out.reasons |= r - 1 > epsilon_ ? MaskReason::outside_upper : 0U;
    out.reasons |= 1 - r > epsilon_ ? MaskReason::outside_lower : 0U;
    if (std::fabs(a.log_ratio) > kLogRatioLimit) {
      out.reasons |= MaskReason::saturated;
      return out;
    }
    const double pull = std::fabs(r - 1) / epsilon_;
    out.weight = t.advantage * (r - 1) > 0 ? 1 - pull : 1 + pull;
    out.dlogp = -t.advantage * r + size * (r - 1) * r / epsilon_;
    if (out.weight < 0) {
      out.reasons |= MaskReason::corrective;
    }
    return out;
  }

  WeightRange weight_range() const override {
    return {-kInfinity, kInfinity, true,
            fmt::format("w = 1 - sgn(A (r - 1)) |r - 1| / {0} is not bounded: r grows without "
                        "limit as mu goes to 0. "
                        "w = 0 at r = 1 + {0} (A > 0){1}, negative (pulling back) beyond",
                        epsilon_,
                        epsilon_ < 1
                            ? fmt::format(" and r = {} (A < 0)", 1 - epsilon_)
                            : std::string("; for A < 0 it cannot be reached, r - 1 is above -1"))};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p * (1 - epsilon_), p * (1 + epsilon_)};
  }

 private:
  double epsilon_;
  Anchor anchor_;
};

const bool registered = register_algorithm({
    .name = "spo",
    .summary =
        "smooth quadratic regulariser on the ratio (chi-squared); weight unbounded for rare tokens",
    .formula = "l = -A r + |A| (r - 1)^2 / (2 epsilon) (spo.1)",
    .page = "spo.md",
    .traits = traits_of(Anchor::rollout),
    .params = {real_spec("epsilon", std::nullopt, above(0),
                         "the shift of the ratio at which the weight is 0",
                         "epsilon = 0.2 is comparable with PPO; the DRPO paper runs SPO at 12.5"),
               anchor_spec("anchor", "rollout", "the frozen policy below the ratio")},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Spo>(real_param(p, "epsilon"), anchor_param(p, "anchor"));
    },
});

}  // namespace
}  // namespace minirl::rl
