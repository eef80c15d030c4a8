// minirl rl/algorithms/dppo_tv.cpp -- DPPO with the Binary total variation of the sampled token.
//   g = -A min(r, C) M,  M = 0 iff A > 0 and pi - mu > delta,  A < 0 and pi - mu < -delta (dppo.1)
//   (dppo.3)
// Strict: a token exactly at delta is kept.
#include "rl/algorithm_registry.h"
#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

class DppoTv final : public TokenAlgorithm {
 public:
  DppoTv(double delta, Anchor mask_anchor, const WeightOptions& weight)
      : TokenAlgorithm(masked_traits(mask_anchor, weight.anchor)),
        delta_(delta),
        mask_anchor_(mask_anchor),
        weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    const double shift = t.pi - t.at(mask_anchor_).p;
    std::uint32_t reasons = 0;
    if (shift > delta_) {
      reasons |= MaskReason::outside_upper;
      if (t.advantage > 0) {
        reasons |= MaskReason::divergence_positive;
      }
    }
    if (shift < -delta_) {
      reasons |= MaskReason::outside_lower;
      if (t.advantage < 0) {
        reasons |= MaskReason::divergence_negative;
      }
    }
    TokenResult out = masked_result(t, weight_, reasons);
    out.divergence = binary_tv(t.at(mask_anchor_).p, t.pi);
    return out;
  }

  WeightRange weight_range() const override {
    const bool reachable = delta_ < 1;
    return {
        0, 1, reachable,
        masked_weight_words(
            weight_, fmt::format("moving away and |pi - {}| > {}",
                                 mask_anchor_ == Anchor::rollout ? "mu" : "pi_old", delta_)) +
            (reachable
                 ? ""
                 : fmt::format(
                       "; |pi - mu| is at most 1, so the boundary {} cannot be reached and this "
                       "loss is the plain policy gradient",
                       delta_))};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p - delta_, p + delta_};
  }

 private:
  double delta_;
  Anchor mask_anchor_;
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "dppo_tv",
    .summary =
        "DPPO-Binary-TV: hard mask on the absolute change of the sampled token's probability",
    .formula = "g = -A min(r, cap) M; M = 0 iff A > 0 and pi - mu > delta, or A < 0 and pi - mu < "
               "-delta (dppo.1) (dppo.3)",
    .page = "dppo.md",
    .traits = {},
    .params = {real_spec("delta", 0.15, above(0),
                         "threshold of |pi - mu|; usual: 0.15 (dense) to 0.2; at 1 or more "
                         "nothing is ever masked"),
               cap_spec(), mask_anchor_spec("rollout"), weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      WeightOptions weight{anchor_param(p, "weight_anchor"), real_param(p, "cap"), 0};
      return std::make_unique<DppoTv>(real_param(p, "delta"), anchor_param(p, "mask_anchor"),
                                      weight);
    },
});

}  // namespace
}  // namespace minirl::rl
