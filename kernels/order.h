// minirl kernels/order.h -- the lengths that the canonical orders of sums name: constants of the numerics, the
// same on every device. Changing one changes the bits of every run.
#pragma once
#include "core/index.h"

namespace minirl::kernels {

/// Lanes of a row's sum: lane l adds items l, l + 32, ...                 (kernels/rows.h)
inline constexpr int kLanes = 32;
/// Length of one fma chain of (mm.1) and (mm.2).                          (kernels/matmul.h)
inline constexpr Index kDepthChunk = 256;
/// Positions of a key tile.                                               (kernels/attention.h)
inline constexpr Index kKeyTile = 32;

}  // namespace minirl::kernels
