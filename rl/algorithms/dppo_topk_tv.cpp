// minirl rl/algorithms/dppo_topk_tv.cpp -- DPPO with the total variation over the K most likely
// tokens of mu, the sampled one and the rest (K + 1 or K + 2 classes).
//   g = -A min(r, C) M,  M = 0 iff D > delta and A > 0, pi > mu  or  A < 0, pi < mu (dppo.1)
//   (dppo.5)
// The direction is that of the sampled token. All strict.
#include "rl/algorithms/masked.h"

namespace minirl::rl {
namespace {

Traits traits_of(Index k, Anchor mask_anchor, Anchor weight_anchor) {
  Traits traits = masked_traits(mask_anchor, weight_anchor);
  traits.needs_topk = true;
  traits.topk = k;
  return traits;
}

class DppoTopkTv final : public TokenAlgorithm {
 public:
  DppoTopkTv(double delta, Index k, Anchor mask_anchor, const WeightOptions& weight)
      : TokenAlgorithm(traits_of(k, mask_anchor, weight.anchor)),
        delta_(delta),
        mask_anchor_(mask_anchor),
        weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(mask_anchor_);
    std::uint32_t reasons = 0;
    if (a.topk_tv > delta_ && t.pi > a.p) {
      reasons |= MaskReason::outside_upper;
      if (t.advantage > 0) {
        reasons |= MaskReason::divergence_positive;
      }
    }
    if (a.topk_tv > delta_ && t.pi < a.p) {
      reasons |= MaskReason::outside_lower;
      if (t.advantage < 0) {
        reasons |= MaskReason::divergence_negative;
      }
    }
    TokenResult out = masked_result(t, weight_, reasons);
    out.divergence = a.topk_tv;
    return out;
  }
  WeightRange weight_range() const override {
    return {
        0, 1, true,
        masked_weight_words(
            weight_,
            fmt::format(
                "moving away and the total variation over the {} most likely tokens from {} > {}",
                traits().topk, mask_anchor_ == Anchor::rollout ? "mu" : "pi_old", delta_)) +
            "; the boundary depends on the whole head of the distribution, not on the sampled "
            "token alone"};
  }

 private:
  double delta_;
  Anchor mask_anchor_;
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "dppo_topk_tv",
    .summary = "DPPO-TopK: hard mask on the total variation over the head of the distribution",
    .formula = "g = -A min(r, cap) M; M = 0 iff moving away and D over TopK(mu) + sampled token + "
               "rest > delta (dppo.1) (dppo.5)",
    .page = "dppo_topk.md",
    .traits = traits_of(20, Anchor::rollout, Anchor::rollout),
    .params = {real_spec("delta", 0.15, above(0), "threshold of the divergence (probability)"),
               integer_spec("topk", 20, between(1, 1024),
                            "K: how many of mu's most likely tokens are stored per position"),
               cap_spec(), mask_anchor_spec("rollout"), weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<DppoTopkTv>(
          real_param(p, "delta"), integer_param(p, "topk"), anchor_param(p, "mask_anchor"),
          WeightOptions{anchor_param(p, "weight_anchor"), real_param(p, "cap"), 0});
    },
});

}  // namespace
}  // namespace minirl::rl
