// minirl rl/algorithms/ppo.cpp -- the clipped surrogate of PPO, GRPO and DAPO, with clip-higher and
// dual clip.
//   l = max(-A r, -A clip(r, 1 - clip_low, 1 + clip_high));  A < 0: l = min(l, -A c)    (ppo.1)
//   (ppo.2) g = -A r M,  M = 0 iff A > 0 and r > 1 + clip_high,  A < 0 and r < 1 - clip_low,  A < 0
//   and r > c
// Strict: a token exactly on a bound is kept.
#include <cmath>

#include "rl/algorithm_registry.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

struct Clip {
  double low = 0.2, high = 0.2, dual = kInfinity;
  Anchor anchor = Anchor::rollout;
};

Traits traits_of(const Clip& clip) {
  Traits traits;
  traits.needs_recomputed = clip.anchor == Anchor::recomputed;
  traits.weight_anchor = clip.anchor;
  traits.ratio_form = true;
  return traits;
}

class Ppo final : public TokenAlgorithm {
 public:
  explicit Ppo(const Clip& clip) : TokenAlgorithm(traits_of(clip)), clip_(clip) {}

  TokenResult token(const TokenInput& t) const override {
    const TokenInput::AgainstAnchor& a = t.at(clip_.anchor);
    const double r = a.ratio;
    const double upper = 1 + clip_.high;
    const double lower = 1 - clip_.low;
    TokenResult out;
    out.ratio = r;
    out.divergence = binary_tv(a.p, t.pi);
    out.reasons |= r > upper ? MaskReason::outside_upper : 0U;
    out.reasons |= r < lower ? MaskReason::outside_lower : 0U;
    const double clipped = r > upper ? upper : (r < lower ? lower : r);
    const double plain_loss = -t.advantage * r + 0.0;
    const double clipped_loss = -t.advantage * clipped + 0.0;
    out.loss = plain_loss < clipped_loss ? clipped_loss : plain_loss;
    if (t.advantage > 0 && r > upper) {
      out.reasons |= MaskReason::clipped_high;
    }
    if (t.advantage < 0 && r < lower) {
      out.reasons |= MaskReason::clipped_low;
    }
    if (t.advantage < 0 && r > clip_.dual) {
      out.reasons |= MaskReason::dual_clip;
      out.loss = -t.advantage * clip_.dual;
    }
    if (std::fabs(a.log_ratio) > kLogRatioLimit) {
      out.reasons |= MaskReason::saturated;
    }
    if (out.masked()) {
      return out;
    }
    out.weight = 1;
    out.dlogp = plain_loss;  // -A r is its own derivative in log pi
    return out;
  }

  WeightRange weight_range() const override {
    return {0, 1, true,
            fmt::format(
                "w is 1, or 0 once A > 0 and r > {}, or A < 0 and r < {}{}: for rare tokens a tiny "
                "change of "
                "probability is enough",
                1 + clip_.high, 1 - clip_.low,
                std::isinf(clip_.dual) ? "" : fmt::format(", or A < 0 and r > {}", clip_.dual))};
  }
  std::optional<Boundary> boundary(double p) const override {
    return Boundary{p * (1 - clip_.low), p * (1 + clip_.high)};
  }

 private:
  Clip clip_;
};

const bool registered = register_algorithm({
    .name = "ppo",
    .summary = "clipped ratio, the surrogate of PPO and GRPO; clip-higher and dual clip",
    .formula = "l = max(-A r, -A clip(r, 1 - clip_low, 1 + clip_high)); A < 0: l = min(l, -A "
               "dual_clip) (ppo.1) (ppo.2)",
    .page = "ppo.md",
    .traits = traits_of({}),
    .params = {real_spec("clip_low", 0.2, between(0, 1),
                         "lower bound of the ratio is 1 - clip_low; usual: 0.2"),
               real_spec(
                   "clip_high", 0.2, at_least(0),
                   "upper bound of the ratio is 1 + clip_high; usual: 0.2, with clip-higher 0.28"),
               limit_spec("dual_clip", 1,
                          "c: tokens with A < 0 and a ratio above c are masked; usual: 3 or 10"),
               anchor_spec("anchor", "rollout", "the frozen policy below the ratio")},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Ppo>(Clip{real_param(p, "clip_low"), real_param(p, "clip_high"),
                                        real_param(p, "dual_clip"), anchor_param(p, "anchor")});
    },
});

}  // namespace
}  // namespace minirl::rl
