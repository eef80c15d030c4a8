// minirl rl/algorithms/mini_rl.cpp -- MiniRL: PPO's mask on one ratio, the weight from another.
//   g = -A min(r, C) M(r'),  M = 0 iff A > 0 and r' > 1 + clip_high,  A < 0 and r' < 1 - clip_low
//   (mini.1)
// Strict. By default r = pi/mu weighs and r' = pi/pi_old masks.
#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

class MiniRl final : public TokenAlgorithm {
 public:
  MiniRl(double low, double high, Anchor mask_anchor, const WeightOptions& weight)
      : TokenAlgorithm(masked_traits(mask_anchor, weight.anchor)),
        low_(low),
        high_(high),
        mask_anchor_(mask_anchor),
        weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(mask_anchor_);
    std::uint32_t reasons = 0;
    if (a.ratio > 1 + high_) {
      reasons |= MaskReason::outside_upper;
      if (t.advantage > 0) {
        reasons |= MaskReason::clipped_high;
      }
    }
    if (a.ratio < 1 - low_) {
      reasons |= MaskReason::outside_lower;
      if (t.advantage < 0) {
        reasons |= MaskReason::clipped_low;
      }
    }
    TokenResult out = masked_result(t, weight_, reasons);
    out.divergence = binary_tv(a.p, t.pi);
    return out;
  }
  WeightRange weight_range() const override {
    return {0, 1, true,
            masked_weight_words(
                weight_, fmt::format("A > 0 and pi/{0} > {1}, or A < 0 and pi/{0} < {2}",
                                     mask_anchor_ == Anchor::rollout ? "mu" : "pi_old", 1 + high_,
                                     1 - low_))};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p * (1 - low_), p * (1 + high_)};
  }

 private:
  double low_, high_;
  Anchor mask_anchor_;
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "mini_rl",
    .summary = "PPO's mask around pi_old, the weight against mu (two anchors)",
    .formula = "g = -A min(pi/mu, cap) M; M = 0 iff A > 0 and pi/pi_old > 1 + clip_high, or A < 0 "
               "and pi/pi_old < 1 - clip_low (mini.1)",
    .page = "mini_rl.md",
    .traits = masked_traits(Anchor::recomputed, Anchor::rollout),
    .params = {real_spec("clip_low", 0.2, between(0, 1),
                         "lower bound of the mask's ratio is 1 - clip_low"),
               real_spec("clip_high", 0.28, at_least(0),
                         "upper bound of the mask's ratio is 1 + clip_high"),
               cap_spec(), mask_anchor_spec("recomputed"), weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<MiniRl>(
          real_param(p, "clip_low"), real_param(p, "clip_high"), anchor_param(p, "mask_anchor"),
          WeightOptions{anchor_param(p, "weight_anchor"), real_param(p, "cap"), 0});
    },
});

}  // namespace
}  // namespace minirl::rl
