// minirl kernels/cuda/warp.cuh -- reductions of a warp. All lanes take part and all get the result.
#pragma once
#include "kernels/cuda/device.cuh"
#include "kernels/order.h"

namespace minirl::kernels::cuda {

/// The root of the fixed tree 16-8-4-2-1 over the lanes' values (row.1): addition commutes, so that the butterfly has
/// the bits of the tree in every lane.
template <class T>
__device__ T tree_sum(T v) {
  for (int h = kLanes / 2; h > 0; h /= 2) { v += __shfl_xor_sync(kAllLanes, v, h); }
  return v;
}

/// Exact, so its order does not matter.
template <class T>
__device__ T warp_max(T v) {
  for (int h = kLanes / 2; h > 0; h /= 2) {
    const T other = __shfl_xor_sync(kAllLanes, v, h);
    v = v < other ? other : v;
  }
  return v;
}

}  // namespace minirl::kernels::cuda
