// minirl rl/algorithms/cppo.cpp -- CPPO: DPPO's mask with a budget that the prefix of the sequence
// spends.
//   w_t = 1 - (1 - w_min)(t - 1)/max(T - 1, 1),  Z_t = w_t |pi - mu| (cppo.1) c_t = min(delta,
//   delta + b W_{t-1} - S_{t-1}),  W, S = prefix sums of w, Z               (cppo.2) g = -A r M,  M
//   = 0 iff A (r - 1) > 0 and Z_t > c_t                                       (cppo.3) b =
//   clamp(90% quantile of |pi - mu| in the sequence, budget, 2 budget)                   (cppo.4)
// t = 1..T counts all sampled tokens; every one of them spends, masked or not.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

struct Budget {
  double delta = 0.15, w_min = 0.8, budget = 0.02;
  bool dynamic = true;
};

/// Linear interpolation at index q (n - 1) of the sorted values.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = low + 1 < values.size() ? low + 1 : low;
  return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

Traits traits_of(Anchor mask_anchor, Anchor weight_anchor) {
  Traits traits = masked_traits(mask_anchor, weight_anchor);
  traits.sequence_level = true;
  return traits;
}

class Cppo final : public Algorithm {
 public:
  Cppo(const Budget& budget, Anchor mask_anchor, const WeightOptions& weight)
      : Algorithm(traits_of(mask_anchor, weight.anchor)),
        budget_(budget),
        mask_anchor_(mask_anchor),
        weight_(weight) {}

  WeightRange weight_range() const override {
    return {0, 1, budget_.delta < 1,
            masked_weight_words(weight_,
                                fmt::format("moving away and either |pi - mu| > {0} at the start "
                                            "of the sequence, growing to {1:.4g} at its end, "
                                            "or the prefix has spent its budget",
                                            budget_.delta, budget_.delta / budget_.w_min))};
  }

 private:
  void compute(std::span<const TokenInput> tokens, std::span<TokenResult> results) const override {
    if (tokens.empty()) {
      return;
    }
    std::vector<double> distance;
    bool finite = true;
    for (const TokenInput& t : tokens) {
      distance.push_back(binary_tv(t.at(mask_anchor_).p, t.pi));
      finite = finite &&
               std::isfinite(distance.back());  // sorting NaN has no meaning; the sums carry it on
    }
    const double p90 = finite && budget_.dynamic ? quantile(distance, 0.9) : budget_.budget;
    const double b = std::min(std::max(p90, budget_.budget), 2 * budget_.budget);
    const double last = std::max(static_cast<double>(tokens.size()) - 1, 1.0);
    double spent = 0;
    double earned = 0;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const TokenInput& token = tokens[t];
      const double w = 1 - (1 - budget_.w_min) * static_cast<double>(t) / last;
      const double z = w * distance[t];
      const double allowed = budget_.delta + b * earned - spent;
      std::uint32_t reasons = 0;
      if (z > budget_.delta) {
        reasons |= token.pi > token.at(mask_anchor_).p ? MaskReason::outside_upper
                                                       : MaskReason::outside_lower;
      }
      if (token.advantage * (token.at(mask_anchor_).ratio - 1) > 0) {
        if (z > budget_.delta) {
          reasons |= MaskReason::budget_token;
        } else if (z > allowed) {
          reasons |= MaskReason::budget_prefix;
        }
      }
      results[t] = masked_result(token, weight_, reasons);
      results[t].divergence = distance[t];
      spent += z;
      earned += w;
    }
  }

  Budget budget_;
  Anchor mask_anchor_;
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "cppo",
    .summary = "DPPO's mask with a budget of divergence that the prefix of the response spends",
    .formula = "g = -A min(r, cap) M; M = 0 iff moving away and w_t |pi - mu| > min(delta, delta + "
               "b W - S) (cppo.1) (cppo.2) (cppo.3)",
    .page = "cppo.md",
    .traits = traits_of(Anchor::rollout, Anchor::rollout),
    .params =
        {real_spec(
             "delta", 0.15, above(0),
             "threshold of one token (probability); usual: 0.15 dense, 0.2 mixture of experts"),
         real_spec("w_min", 0.8, above_to(0, 1),
                   "weight of the last token's divergence; the first one's is 1"),
         real_spec("budget", 0.02, above(0),
                   "divergence that each position adds to the budget (probability per token)"),
         boolean_spec(
             "dynamic_budget", true,
             "the sequence's own 90% quantile, between budget and 2 budget; false: budget itself"),
         cap_spec(), mask_anchor_spec("rollout"), weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Cppo>(
          Budget{real_param(p, "delta"), real_param(p, "w_min"), real_param(p, "budget"),
                 boolean_param(p, "dynamic_budget")},
          anchor_param(p, "mask_anchor"),
          WeightOptions{anchor_param(p, "weight_anchor"), real_param(p, "cap"), 0});
    },
});

}  // namespace
}  // namespace minirl::rl
