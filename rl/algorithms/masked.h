// minirl rl/algorithms/masked.h -- what every loss with a hard mask and a detached weight has in
// common: g = -A min(max(r, floor), cap) M, reported loss -A min(max(r, floor), cap) M (pg.3).
#pragma once
#include "rl/algorithm.h"
#include "rl/parameters.h"

namespace minirl::rl {

struct WeightOptions {
  Anchor anchor = Anchor::rollout;
  double cap = kInfinity;  // absolute, on the ratio
  double floor = 0;
};

/// The result of one token, given why it is masked (bits of kMaskedBits) and what else to tell.
TokenResult masked_result(const Token& token, const WeightOptions& options, std::uint32_t reasons);

/// Parameters "weight_anchor" and "cap" (default inf) that these losses share.
ParamSpec mask_anchor_param(std::string fallback);
ParamSpec weight_anchor_param();
ParamSpec cap_param(double fallback);
/// Traits of a masked loss with these anchors.
Traits masked_traits(Anchor mask_anchor, Anchor weight_anchor);
/// "w = M min(r, 3) / r: 1 where kept below the cap, 0 where masked".
std::string masked_weight_words(const WeightOptions& options, std::string_view mask);

}  // namespace minirl::rl
