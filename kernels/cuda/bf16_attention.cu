// Causal grouped-query attention over a bf16 cache on tensor cores: one pass over key tiles of 64 absolute positions, ascending
// (FlashAttention-2: Dao, 2023). Sums and exponentials are fp32. Not the bits of the CPU, but a query's bits depend on its position
// and its cache alone: decoding token by token, prefilling and training agree, because masked keys and whole masked tiles change
// nothing exactly (their probability is 0, the factor of the old sum is exp(0) = 1).
#include <type_traits>

#include "core/fmath.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/tensor_core.cuh"

namespace minirl::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kTile = static_cast<int>(kBf16KeyTile);
constexpr int kPadding = 8;
static_assert(kBf16Queries == 64 && kTile == 64, "four warps of 16 queries, tiles of 64 keys");

struct Attention {
  AttentionDims dims;
  float scale;
  const std::uint16_t *q, *pool_k, *pool_v;
  std::uint16_t* o;
  float* lse;
  const AttentionItem* items;
  const std::int32_t* tile_ids;
};

/// The largest (the sum) of the four lanes that hold a row of a fragment.
__device__ float row_max(float v) {
  v = fmath::max(v, __shfl_xor_sync(kAllLanes, v, 1));
  return fmath::max(v, __shfl_xor_sync(kAllLanes, v, 2));
}
__device__ float row_sum(float v) {
  v += __shfl_xor_sync(kAllLanes, v, 1);
  return v + __shfl_xor_sync(kAllLanes, v, 2);
}

/// Block: one item and kv head. Query i of a run is row i / heads and head i % heads of the group; warp w has 16 of them.
template <int Width>
__global__ void __launch_bounds__(kThreads) bf16_attention(Attention f) {
  constexpr int kStride = Width + kPadding, kElements = kTile * kStride;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int heads = static_cast<int>(f.dims.q_heads / f.dims.kv_heads);
  const Index kv_head = blockIdx.y;
  const AttentionItem item = f.items[blockIdx.x];
  MINIRL_DYNAMIC_SHARED(std::uint16_t, shared);
  std::uint16_t* const q = shared;                   // (64, kStride)
  std::uint16_t* const keys = q + kElements;         // (2, 64, kStride)
  std::uint16_t* const values = keys + 2 * kElements;
  const auto row_of = [&](int i) { return (item.first_row + static_cast<Index>(i / heads)) * f.dims.q_heads + kv_head * heads + i % heads; };

  // Begins the copy of `count` rows of Width elements; zeros in the others.
  const auto fetch = [&](std::uint16_t* tile, int count, auto source) {
    for (int i = static_cast<int>(threadIdx.x) * 8; i < kTile * Width; i += kThreads * 8) {
      const int row = i / Width, column = i % Width;
      std::uint16_t* to = tile + row * kStride + column;
      if (row < count) {
        copy_async(to, source(row) + column);
      } else {
        *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
      }
    }
  };
  const int last = item.first_position + (item.end - 1) / heads;  // position
  const auto fetch_keys = [&](int tile, int buffer) {
    const Index at = (f.tile_ids[item.tiles + tile] * f.dims.kv_heads + kv_head) * kTile * Width;
    const int count = last + 1 - tile * kTile;  // behind it nobody may have written the pool yet
    fetch(keys + buffer * kElements, count, [&](int row) { return f.pool_k + at + row * Width; });
    fetch(values + buffer * kElements, count, [&](int row) { return f.pool_v + at + row * Width; });
    end_copies();
  };
  fetch(q, item.end - item.first, [&](int row) { return f.q + row_of(item.first + row) * Width; });
  fetch_keys(0, 0);

  // This lane's two rows of every fragment: queries `mine` and `mine` + 8.
  const int mine = item.first + warp * 16 + lane / 4;
  const auto position = [&](int half) { return item.first_position + (mine + 8 * half) / heads; };
  float m[2] = {-fmath::kInfinityF, -fmath::kInfinityF}, l[2] = {};
  float o[Width / 8][4] = {};
  int buffer = 0;
  for (int tile = 0; tile * kTile <= last; ++tile, buffer ^= 1) {
    wait_copies<0>();
    // The tile is there for everybody, and everybody is done with the other buffer.
    __syncthreads();
    if ((tile + 1) * kTile <= last) { fetch_keys(tile + 1, buffer ^ 1); }
    const std::uint16_t *k = keys + buffer * kElements, *v = values + buffer * kElements;

    float s[kTile / 8][4] = {};  // scores, then probabilities
#pragma unroll
    for (int c = 0; c < Width; c += 16) {
      std::uint32_t a[4];
      load_matrices<false>(a, q + (warp * 16 + lane % 16) * kStride + c + lane / 16 * 8);
#pragma unroll
      for (int n = 0; n < kTile / 8; n += 2) {
        std::uint32_t b[4];
        load_matrices<false>(b, k + (8 * n + lane / 16 * 8 + lane % 8) * kStride + c + lane / 8 % 2 * 8);
        mma(s[n], a, b[0], b[1]);
        mma(s[n + 1], a, b[2], b[3]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int present = position(half) + 1 - tile * kTile;  // keys of the tile that the query sees
      float next = m[half];
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = s[n][2 * half + e];
          x = 8 * n + 2 * (lane % 4) + e < present ? x * f.scale : -fmath::kInfinityF;
          next = fmath::max(next, x);
        }
      }
      next = row_max(next);  // finite: every query sees key 0
      const float rescale = fmath::exp(m[half] - next);
      m[half] = next;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = s[n][2 * half + e];
          x = fmath::exp(x - next);
          sum += x;
        }
      }
      l[half] = rescale * l[half] + row_sum(sum);
#pragma unroll
      for (int n = 0; n < Width / 8; ++n) { o[n][2 * half] *= rescale, o[n][2 * half + 1] *= rescale; }
    }
#pragma unroll
    for (int j = 0; j < kTile / 16; ++j) {  // o += p v: the scores of 16 keys are a fragment of A as they are
      const std::uint32_t a[4] = {pack_bf16(s[2 * j][0], s[2 * j][1]), pack_bf16(s[2 * j][2], s[2 * j][3]), pack_bf16(s[2 * j + 1][0], s[2 * j + 1][1]), pack_bf16(s[2 * j + 1][2], s[2 * j + 1][3])};
#pragma unroll
      for (int n = 0; n < Width / 8; n += 2) {
        std::uint32_t b[4];
        load_matrices<true>(b, v + (16 * j + lane / 8 % 2 * 8 + lane % 8) * kStride + 8 * n + lane / 16 * 8);
        mma(o[n], a, b[0], b[1]);
        mma(o[n + 1], a, b[2], b[3]);
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = mine + 8 * half;
    if (query >= item.end) { continue; }
    const Index row = row_of(query);
#pragma unroll
    for (int n = 0; n < Width / 8; ++n) {
      *reinterpret_cast<std::uint32_t*>(f.o + row * Width + 8 * n + 2 * (lane % 4)) = pack_bf16(o[n][2 * half] / l[half], o[n][2 * half + 1] / l[half]);
    }
    if (f.lse != nullptr && lane % 4 == 0) { f.lse[row] = m[half] + fmath::log(l[half]); }
  }
}

template <int Width>
void run(const Attention& f, Index count, cudaStream_t stream) {
  constexpr std::size_t kShared = 5 * kTile * (Width + kPadding) * sizeof(std::uint16_t);
  check(cudaFuncSetAttribute(bf16_attention<Width>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kShared)), "shared memory of attention");
  launch(bf16_attention<Width>, {.grid = dim3(static_cast<unsigned>(count), static_cast<unsigned>(f.dims.kv_heads)), .block = kThreads, .shared = kShared, .stream = stream}, f);
}

}  // namespace

void bf16_attention_forward(const AttentionDims& dims, float scale, const std::uint16_t* q, const std::uint16_t* pool_k, const std::uint16_t* pool_v,
                            std::uint16_t* o, float* lse, const AttentionItem* items, Index count, const std::int32_t* tile_ids, cudaStream_t stream) {
  if (count == 0) { return; }
  const Attention f{dims, scale, q, pool_k, pool_v, o, lse, items, tile_ids};
  switch (dims.head_dim) {
    case 32: return run<32>(f, count, stream);
    case 64: return run<64>(f, count, stream);
    case 128: return run<128>(f, count, stream);
    default: throw std::runtime_error("bf16 attention has heads of 32, 64 or 128 channels, not " + std::to_string(dims.head_dim));
  }
}

}  // namespace minirl::kernels::cuda
