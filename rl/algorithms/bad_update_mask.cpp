// minirl rl/algorithms/bad_update_mask.cpp -- the smallest mask that stabilises training in the
// DPPO paper (E1).
//   g = -A min(r, C) M,  M = 0 iff A < 0 and mu - pi >= delta                            (mask.1)
// Not strict: a token exactly at delta is masked.
#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

class BadUpdateMask final : public TokenAlgorithm {
 public:
  BadUpdateMask(double delta, Anchor mask_anchor, const WeightOptions& weight)
      : TokenAlgorithm(masked_traits(mask_anchor, weight.anchor)),
        delta_(delta),
        mask_anchor_(mask_anchor),
        weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    const double fall = t.at(mask_anchor_).p - t.pi;
    std::uint32_t reasons = 0;
    if (fall >= delta_) {
      reasons |= MaskReason::outside_lower;
      if (t.advantage < 0) {
        reasons |= MaskReason::bad_update;
      }
    }
    TokenResult out = masked_result(t, weight_, reasons);
    out.divergence = binary_tv(t.at(mask_anchor_).p, t.pi);
    return out;
  }
  WeightRange weight_range() const override {
    return {0, 1, delta_ < 1,
            masked_weight_words(
                weight_, fmt::format("A < 0 and {} - pi >= {}; nothing bounds the upper side",
                                     mask_anchor_ == Anchor::rollout ? "mu" : "pi_old", delta_)) +
                (delta_ < 1 ? "" : "; a probability cannot fall by that much")};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p - delta_, kInfinity};
  }

 private:
  double delta_;
  Anchor mask_anchor_;
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "bad_update_mask",
    .summary = "E1: mask only tokens with A < 0 whose probability already fell by delta or more",
    .formula = "g = -A min(r, cap) M; M = 0 iff A < 0 and mu - pi >= delta (mask.1)",
    .page = "bad_update_mask.md",
    .traits = {},
    .params = {real_spec("delta", 0.5, above(0),
                         "fall of the probability from which a token with A < 0 is masked; 0.5 "
                         "stabilises, 0.8 does not"),
               cap_spec(), mask_anchor_spec("rollout"), weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<BadUpdateMask>(
          real_param(p, "delta"), anchor_param(p, "mask_anchor"),
          WeightOptions{anchor_param(p, "weight_anchor"), real_param(p, "cap"), 0});
    },
});

}  // namespace
}  // namespace minirl::rl
