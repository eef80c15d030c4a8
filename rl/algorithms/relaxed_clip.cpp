// minirl rl/algorithms/relaxed_clip.cpp -- PPO's mask, lifted for tokens that were unlikely when
// sampled.
//   M as in PPO, but a token with mu < alpha is never masked on the relaxed side(s) (relax.1) g =
//   -A min(r, C) M
// mu = alpha is not relaxed.
#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

struct Relaxation {
  double low = 0.2, high = 0.28, alpha = 0.1;
  bool relax_high = true, relax_low = true;
};

class RelaxedClip final : public TokenAlgorithm {
 public:
  RelaxedClip(const Relaxation& r, Anchor mask_anchor, const WeightOptions& weight)
      : TokenAlgorithm(masked_traits(mask_anchor, weight.anchor)),
        clip_(r),
        mask_anchor_(mask_anchor),
        weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(mask_anchor_);
    const bool unlikely = t.rollout.p < clip_.alpha;
    std::uint32_t reasons = 0;
    if (a.ratio > 1 + clip_.high) {
      reasons |= MaskReason::outside_upper;
      if (t.advantage > 0) {
        reasons |= unlikely && clip_.relax_high ? MaskReason::relaxed : MaskReason::clipped_high;
      }
    }
    if (a.ratio < 1 - clip_.low) {
      reasons |= MaskReason::outside_lower;
      if (t.advantage < 0) {
        reasons |= unlikely && clip_.relax_low ? MaskReason::relaxed : MaskReason::clipped_low;
      }
    }
    TokenResult out = masked_result(t, weight_, reasons);
    out.divergence = binary_tv(a.p, t.pi);
    return out;
  }
  WeightRange weight_range() const override {
    const std::string_view side = clip_.relax_high && clip_.relax_low
                                      ? "either side"
                                      : (clip_.relax_high ? "the upper side" : "the lower side");
    return {0, 1, true,
            masked_weight_words(
                weight_,
                fmt::format("A > 0 and r > {}, or A < 0 and r < {}, but never on {} where mu < {}",
                            1 + clip_.high, 1 - clip_.low, side, clip_.alpha))};
  }
  std::optional<Boundary> boundary(double p) const override {
    const bool unlikely = p < clip_.alpha;
    return Boundary{unlikely && clip_.relax_low ? -kInfinity : p * (1 - clip_.low),
                    unlikely && clip_.relax_high ? kInfinity : p * (1 + clip_.high)};
  }

 private:
  Relaxation clip_;
  Anchor mask_anchor_;
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "relaxed_clip",
    .summary = "PPO's mask without bounds for tokens of low probability (the DPPO paper's study of "
               "clipping)",
    .formula = "g = -A min(r, cap) M; M as in PPO, but tokens with mu < alpha are kept on the "
               "relaxed side(s) (relax.1)",
    .page = "relaxed_clip.md",
    .traits = {},
    .params =
        {real_spec("clip_low", 0.2, between(0, 1), "lower bound of the ratio is 1 - clip_low"),
         real_spec("clip_high", 0.28, at_least(0), "upper bound of the ratio is 1 + clip_high"),
         real_spec("alpha", 0.1, between(0, 1), "tokens with mu below this are relaxed; 0: none"),
         choice_spec("relax", "both", {"both", "high", "low"}, "which bound is lifted for them"),
         cap_spec(), mask_anchor_spec("rollout"), weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      const std::string& side = text_param(p, "relax");
      return std::make_unique<RelaxedClip>(
          Relaxation{real_param(p, "clip_low"), real_param(p, "clip_high"), real_param(p, "alpha"),
                     side != "low", side != "high"},
          anchor_param(p, "mask_anchor"),
          WeightOptions{anchor_param(p, "weight_anchor"), real_param(p, "cap"), 0});
    },
});

}  // namespace
}  // namespace minirl::rl
