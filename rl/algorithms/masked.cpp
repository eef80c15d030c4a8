#include "rl/algorithms/masked.h"

#include <cmath>
#include <utility>

namespace minirl::rl {

TokenResult masked_result(const TokenInput& token, const WeightOptions& options,
                          std::uint32_t reasons) {
  TokenResult out;
  out.ratio = token.at(options.anchor).ratio;
  out.reasons = reasons;
  double limited = out.ratio;  // NaN stays NaN: both comparisons are false
  if (limited > options.cap) {
    limited = options.cap;
    out.reasons |= MaskReason::capped;
  } else if (limited < options.floor) {
    limited = options.floor;
    out.reasons |= MaskReason::floored;
  }
  if (out.masked()) {
    return out;
  }
  out.dlogp = -token.advantage * limited + 0.0;  // + 0.0: no negative zero
  out.loss = out.dlogp;                          // -A min(r, C) M, the ratio form's value (pg.3)
  out.weight = limited == out.ratio ? 1 : limited / out.ratio;
  return out;
}

ParamSpec mask_anchor_spec(std::string fallback) {
  return anchor_spec("mask_anchor", std::move(fallback),
                     "the frozen policy that the mask measures from");
}
ParamSpec weight_anchor_spec() {
  return anchor_spec("weight_anchor", "rollout", "the frozen policy below the ratio of the weight");
}
ParamSpec cap_spec() {
  return limit_spec("cap", 0, "C: upper limit of the detached ratio; absolute, not 1 + eps");
}

Traits masked_traits(Anchor mask_anchor, Anchor weight_anchor) {
  Traits traits;
  traits.needs_recomputed =
      mask_anchor == Anchor::recomputed || weight_anchor == Anchor::recomputed;
  traits.weight_anchor = weight_anchor;
  return traits;
}

std::string masked_weight_words(const WeightOptions& options, std::string_view mask) {
  const bool capped = !std::isinf(options.cap);
  return fmt::format("w = {}{}: 1 on kept tokens{}{}, 0 on masked ones",
                     mask.empty() ? std::string("1") : "M",
                     capped ? fmt::format(" min(r, {}) / r", options.cap) : "",
                     capped ? fmt::format(" with r <= {}", options.cap) : "",
                     mask.empty() ? " (there is no mask)" : fmt::format("; masked: {}", mask));
}

}  // namespace minirl::rl
