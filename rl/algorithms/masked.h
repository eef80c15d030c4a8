// minirl rl/algorithms/masked.h -- what every loss with a hard mask and a detached weight has in
// common: g = -A min(max(r, floor), cap) M, reported loss -A min(max(r, floor), cap) M (pg.3).
#pragma once
#include "rl/algorithm_registry.h"

namespace minirl::rl {

struct WeightOptions {
  Anchor anchor = Anchor::rollout;
  double cap = kInfinity;  // absolute, on the ratio
  double floor = 0;
};

/// The result of one token, given why it is masked (bits of kMaskedBits) and what else to tell.
TokenResult masked_result(const TokenInput& token, const WeightOptions& options,
                          std::uint32_t reasons);

/// Parameters that these losses share: "mask_anchor", "weight_anchor" (rollout), "cap" (off).
ParamSpec mask_anchor_spec(std::string fallback);
ParamSpec weight_anchor_spec();
ParamSpec cap_spec();
/// Traits of a masked loss with these anchors.
Traits masked_traits(Anchor mask_anchor, Anchor weight_anchor);
/// "w = M min(r, 3) / r: 1 where kept below the cap, 0 where masked".
std::string masked_weight_words(const WeightOptions& options, std::string_view mask);

}  // namespace minirl::rl
