// minirl kernels/cuda/rows.cuh -- how a row program (kernels/rows.h) runs on a GPU: a warp a row, or a block a row
// where rows are long. Both have the sums of CpuRow: 32 lanes, then the tree 16-8-4-2-1 (row.1).
#pragma once
#include "kernels/cuda/warp.cuh"
#include "kernels/rows.h"

namespace minirl::kernels::cuda {

inline constexpr int kRowsPerBlock = 4;     // warps of a block that runs a warp a row
inline constexpr int kLongRowThreads = 256;
inline constexpr int kLongRowTile = 2048;   // items that a block computes before one warp adds them

/// A candidate for the largest key; ties go to the lower index.
template <class T>
struct Best {
  T top;
  Index at;
  __device__ void meet(T other_top, Index other_at) {
    if (other_top > top || (other_top == top && other_at < at)) { top = other_top, at = other_at; }
  }
};

template <class T>
__device__ Best<T> warp_best(Best<T> best) {
  for (int h = kLanes / 2; h > 0; h /= 2) {
    const T top = __shfl_xor_sync(kAllLanes, best.top, h);
    const Index at = __shfl_xor_sync(kAllLanes, best.at, h);
    best.meet(top, at);
  }
  return best;
}

/// CpuRow's argmax_random: one Philox call serves four items, so the best of each four, then the best four.
template <class T, class Row, class F>
__device__ Index argmax_of_fours(const Row& row, Index n, const rng::Key& k, std::uint32_t position, F key) {
  const auto best_of_four = [&](Index block, T* top) {
    const rng::Words4 words = k.words(static_cast<std::uint32_t>(block), position);
    Index best = 4 * block;
    *top = key(best, words.w[0]);
    for (int w = 1; w < 4 && 4 * block + w < n; ++w) {
      const T v = key(4 * block + w, words.w[w]);
      if (v > *top) { *top = v, best = 4 * block + w; }
    }
    return best;
  };
  T top;
  const Index block = row.argmax((n + 3) / 4, [&](Index b) {
    T best;
    best_of_four(b, &best);
    return best;
  });
  return best_of_four(block, &top);
}

/// Lane threadIdx.x of the row's warp. Programs that take maxima have long rows: see BlockRow.
template <class T>
struct WarpRow {
  template <class F>
  __device__ T sum(Index n, F item) const {
    T v = T(0);
    for (Index i = threadIdx.x; i < n; i += kLanes) { v += item(i); }
    return tree_sum(v);
  }
  template <class F>
  __device__ void each(Index n, F body) const {
    for (Index i = threadIdx.x; i < n; i += kLanes) { body(i); }
  }
  template <class F>
  __device__ void once(F body) const {
    if (threadIdx.x == 0) { body(); }
  }
};

/// Shared memory of a block that runs a row. Both halves of everything are used in turn, so that one barrier
/// an exchange is enough: who writes a half has seen everybody behind the barrier after its last reading.
template <class T>
struct BlockRowMemory {
  T* tile;    // (2, kLongRowTile)
  T* value;   // (2, warps): a value from each warp
  Index* at;  // (2, warps)
};

/// Thread threadIdx.x of the row's block. All threads compute the items, the first warp adds them in its 32 lanes.
template <class T>
struct BlockRow {
  static constexpr int kWarps = kLongRowThreads / kLanes;
  BlockRowMemory<T> memory;
  mutable int turn = 0;  // which half of value and at the next exchange uses

  template <class F>
  __device__ T sum(Index n, F item) const {
    if (n == 0) { return T(0); }
    const Index thread = threadIdx.x;
    T v = T(0);
    T* tile = memory.tile;
    T* other = memory.tile + kLongRowTile;
    for (Index first = 0; first < n; first += kLongRowTile) {
      const Index count = n - first < kLongRowTile ? n - first : kLongRowTile;
      for (Index i = thread; i < count; i += kLongRowThreads) { tile[i] = item(first + i); }
      __syncthreads();
      if (thread < kLanes) {
        for (Index i = thread; i < count; i += kLanes) { v += tile[i]; }
      }
      T* const done = tile;
      tile = other;
      other = done;
    }
    T* const value = memory.value + turn * kWarps;
    turn ^= 1;
    if (thread < kLanes) {
      v = tree_sum(v);
      if (thread == 0) { value[0] = v; }
    }
    __syncthreads();
    return value[0];
  }
  template <class F>
  __device__ T max(Index n, F item) const {
    T v = -T(__builtin_huge_valf());
    for (Index i = threadIdx.x; i < n; i += kLongRowThreads) {
      const T w = item(i);
      v = v < w ? w : v;
    }
    v = warp_max(v);
    T* const value = memory.value + turn * kWarps;
    turn ^= 1;
    if (threadIdx.x % kLanes == 0) { value[threadIdx.x / kLanes] = v; }
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) { v = v < value[w] ? value[w] : v; }
    return v;
  }
  template <class F>
  __device__ Index argmax(Index n, F key) const {
    Best<T> best{-T(__builtin_huge_valf()), static_cast<Index>(threadIdx.x)};
    for (Index i = threadIdx.x; i < n; i += kLongRowThreads) {
      const T v = key(i);
      if (v > best.top) { best = {v, i}; }
    }
    best = warp_best(best);
    T* const value = memory.value + turn * kWarps;
    Index* const at = memory.at + turn * kWarps;
    turn ^= 1;
    if (threadIdx.x % kLanes == 0) {
      value[threadIdx.x / kLanes] = best.top;
      at[threadIdx.x / kLanes] = best.at;
    }
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) { best.meet(value[w], at[w]); }
    return best.at;
  }
  template <class F>
  __device__ Index argmax_random(Index n, const rng::Key& k, std::uint32_t position, F key) const {
    return argmax_of_fours<T>(*this, n, k, position, key);
  }
  template <class F>
  __device__ void each(Index n, F body) const {
    for (Index i = threadIdx.x; i < n; i += kLongRowThreads) { body(i); }
  }
  template <class F>
  __device__ void once(F body) const {
    if (threadIdx.x == 0) { body(); }
  }
};

template <class Program>
__global__ void warp_rows(Program program, Index rows) {
  const Index r = static_cast<Index>(blockIdx.x) * kRowsPerBlock + threadIdx.y;
  if (r < rows) { program(WarpRow<typename Program::Scalar>{}, r); }
}

template <class Program>
__global__ void __launch_bounds__(kLongRowThreads) block_rows(Program program) {
  using T = typename Program::Scalar;
  MINIRL_SHARED(T, tile, 2 * kLongRowTile);
  MINIRL_SHARED(T, value, 2 * BlockRow<T>::kWarps);
  MINIRL_SHARED(Index, at, 2 * BlockRow<T>::kWarps);
  program(BlockRow<T>{{tile, value, at}}, static_cast<Index>(blockIdx.x));
}

}  // namespace minirl::kernels::cuda
