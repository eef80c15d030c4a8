// minirl kernels/peak.h -- loops of nothing but fused multiply-adds, or reads: the ceilings that other kernels are a share of.
#pragma once
#include "kernels/dispatch.h"

namespace minirl::kernels {

/// Independent chains: two units of four cycles latency need eight.
inline constexpr Index kPeakChains = 12;
/// `rounds` steps of kPeakChains vectors; `result` (kPeakChains * 16) gets the accumulators, `lanes` the width.
MINIRL_KERNEL(fma_loop_f32, void(Index rounds, float* result, Index* lanes));
/// Adds `count` floats (a multiple of 128) in vectors; `result` (16) gets the sums of the lanes: as fast as memory gives them.
MINIRL_KERNEL(read_loop_f32, void(const float* from, Index count, float* result));

}  // namespace minirl::kernels
