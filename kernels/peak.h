// minirl kernels/peak.h -- a loop of nothing but fused multiply-adds: the ceiling that products are a share of.
#pragma once
#include "kernels/dispatch.h"

namespace minirl::kernels {

/// Independent chains: two units of four cycles latency need eight.
inline constexpr Index kPeakChains = 12;
/// `rounds` steps of kPeakChains vectors; `result` (kPeakChains * 16) gets the accumulators, `lanes` the width.
MINIRL_KERNEL(fma_loop_f32, void(Index rounds, float* result, Index* lanes));

}  // namespace minirl::kernels
