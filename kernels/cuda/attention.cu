// Causal grouped-query attention in fp32, in the orders of docs/math/attention.md: the bits of the CPU.
// A warp owns a query (or a key, for dk and dv). Products run with a lane a key (or a query), sums of the output with
// a lane a channel: as on the CPU, one lane an element, never along a sum. Tiles pass through shared memory.
#include "core/fmath.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/warp.cuh"

namespace minirl::kernels::cuda {
namespace {

constexpr int kTile = static_cast<int>(kKeyTile);
static_assert(kTile == kLanes, "a lane a key");
constexpr int kPadded = kTile + 1;  // of transposed tiles: both ways of reading them are free of bank conflicts

/// Row of the (N, q_heads) outputs of query i of an item.
__device__ Index query_row(const AttentionItem& item, const AttentionDims& dims, Index kv_head, Index i) {
  const Index heads = dims.q_heads / dims.kv_heads;
  return (item.first_row + i / heads) * dims.q_heads + kv_head * heads + i % heads;
}

/// tile[c * kPadded + j] = x[j * stride + c] for `count` rows of d channels, zeros in the others.
__device__ void load_transposed(float* tile, const float* x, Index stride, int count, int d, int thread, int threads) {
  for (int i = thread; i < kTile * d; i += threads) {
    const int j = i / d, c = i % d;
    tile[c * kPadded + j] = j < count ? x[j * stride + c] : 0.0F;
  }
}

struct Forward {
  AttentionForwardJob<float> job;
  const AttentionItem* items;
  const std::int32_t* tile_ids;
};

/// (att.1)-(att.4). Block: one item and kv head; warp: kQueriesPerWarp queries; Parts = channels / 32.
template <int Parts>
__global__ void attention_forward_kernel(Forward f) {
  const AttentionDims dims = f.job.dims;
  const int d = static_cast<int>(dims.head_dim), heads = static_cast<int>(dims.q_heads / dims.kv_heads);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int thread = warp * kLanes + lane, threads = static_cast<int>(blockDim.y) * kLanes;
  const Index kv_head = blockIdx.y;
  const AttentionItem item = f.items[blockIdx.x];
  MINIRL_DYNAMIC_SHARED(float, shared);
  float* const keys = shared;                                          // (d, kTile)
  float* const values = keys + d * kTile;                              // (kTile, d)
  float* const q = values + d * kTile + warp * d * kQueriesPerWarp;    // (d, kQueriesPerWarp) of this warp

  const int first = item.first + warp * kQueriesPerWarp;
  const auto position = [&](int n) { return item.first_position + (first + n) / heads; };
  float m[kQueriesPerWarp], l[kQueriesPerWarp], o[kQueriesPerWarp][Parts];
#pragma unroll
  for (int n = 0; n < kQueriesPerWarp; ++n) {
    const bool here = first + n < item.end;
    const float* from = f.job.q + (here ? query_row(item, dims, kv_head, first + n) * d : 0);
    for (int c = lane; c < d; c += kLanes) { q[c * kQueriesPerWarp + n] = here ? from[c] : 0.0F; }
    m[n] = -fmath::kInfinityF;
    l[n] = 0.0F;
#pragma unroll
    for (int part = 0; part < Parts; ++part) { o[n][part] = 0.0F; }
  }

  const int last = item.first_position + (item.end - 1) / heads;  // position
  for (int tile = 0; tile * kTile <= last; ++tile) {
    const Index at = (f.tile_ids[item.tiles + tile] * dims.kv_heads + kv_head) * d * kTile;
    const int count = last + 1 - tile * kTile;  // behind it nobody may have written the pool yet
    __syncthreads();  // everybody has used the tile before
    for (int i = thread; i < d * kTile; i += threads) {
      keys[i] = i % kTile < count ? f.job.pool_k[at + i] : 0.0F;
      values[i] = i / d < count ? f.job.pool_v[at + i] : 0.0F;
    }
    __syncthreads();
    float s[kQueriesPerWarp] = {};
    for (int c = 0; c < d; ++c) {
#pragma unroll
      for (int n = 0; n < kQueriesPerWarp; ++n) { s[n] = fmath::fma(q[c * kQueriesPerWarp + n], keys[c * kTile + lane], s[n]); }
    }
    int present[kQueriesPerWarp];  // keys of the tile that the query sees; none when it is done or absent
#pragma unroll
    for (int n = 0; n < kQueriesPerWarp; ++n) {
      present[n] = first + n < item.end ? min(position(n) + 1 - tile * kTile, kTile) : 0;
      if (present[n] <= 0) { continue; }
      const bool seen = lane < present[n];
      s[n] = seen ? s[n] * f.job.scale : -fmath::kInfinityF;                 // (att.o1)
      const float next = fmath::max(m[n], warp_max(s[n]));                   // (att.o2)
      const float rescale = fmath::exp(m[n] - next);
      s[n] = seen ? fmath::exp(s[n] - next) : 0.0F;
      m[n] = next;
      l[n] = fmath::fma(rescale, l[n], tree_sum(s[n]));                      // (att.o3)
#pragma unroll
      for (int part = 0; part < Parts; ++part) { o[n][part] = rescale * o[n][part]; }
    }
    for (int j = 0; j < kTile; ++j) {                                        // (att.o4)
#pragma unroll
      for (int n = 0; n < kQueriesPerWarp; ++n) {
        if (j >= present[n]) { continue; }
        const float p = __shfl_sync(kAllLanes, s[n], j);
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
          const int c = lane + part * kLanes;
          if (c < d) { o[n][part] = fmath::fma(p, values[j * d + c], o[n][part]); }
        }
      }
    }
  }

#pragma unroll
  for (int n = 0; n < kQueriesPerWarp; ++n) {
    if (first + n >= item.end) { continue; }
    const Index row = query_row(item, dims, kv_head, first + n);
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const int c = lane + part * kLanes;
      if (c < d) { f.job.o[row * d + c] = o[n][part] / l[n]; }
    }
    if (f.job.lse != nullptr && lane == 0) { f.job.lse[row] = m[n] + fmath::log(l[n]); }
  }
}

struct Backward {
  AttentionBackwardJob<float> job;
  const AttentionItem* items;
  float* delta;
};

/// (att.5)-(att.8): delta and dq. Block: one item (queries) and kv head; warp: one query.
template <int Parts>
__global__ void attention_query_grad(Backward b) {
  const AttentionDims dims = b.job.dims;
  const int d = static_cast<int>(dims.head_dim), heads = static_cast<int>(dims.q_heads / dims.kv_heads);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int thread = warp * kLanes + lane, threads = static_cast<int>(blockDim.y) * kLanes;
  const Index kv_head = blockIdx.y;
  const AttentionItem item = b.items[blockIdx.x];
  MINIRL_DYNAMIC_SHARED(float, shared);
  float* const keys = shared;                                // transposed tiles (d, kPadded)
  float* const values = keys + d * kPadded;
  float* const q = values + d * kPadded + warp * 2 * d;      // (d) of this warp's query
  float* const d_o = q + d;

  const int query = item.first + warp;
  const bool here = query < item.end;
  const Index row = here ? query_row(item, dims, kv_head, query) : 0;
  float delta = 0.0F;
  if (here) {
    for (int c = lane; c < d; c += kLanes) {
      q[c] = b.job.q[row * d + c];
      d_o[c] = b.job.d_o[row * d + c];
      delta = fmath::fma(d_o[c], b.job.o[row * d + c], delta);  // (att.5)
    }
    delta = tree_sum(delta);
    if (lane == 0) { b.delta[row] = delta; }
  }
  const float lse = here ? b.job.lse[row] : 0.0F;
  float dq[Parts] = {};

  const int last = (item.end - 1) / heads;  // row of the run, and so the last key
  const Index stride = dims.kv_heads * d;
  for (int first_key = 0; first_key <= last; first_key += kTile) {
    const Index key_row = (static_cast<Index>(item.first_row) + first_key) * stride + kv_head * d;
    const int count = min(kTile, last + 1 - first_key);
    __syncthreads();  // everybody has used the tile before
    load_transposed(keys, b.job.k + key_row, stride, count, d, thread, threads);
    load_transposed(values, b.job.v + key_row, stride, count, d, thread, threads);
    __syncthreads();
    const int present = here ? min(query / heads + 1 - first_key, kTile) : 0;
    if (present <= 0) { continue; }
    float s = 0.0F, dp = 0.0F;
    for (int c = 0; c < d; ++c) {
      s = fmath::fma(q[c], keys[c * kPadded + lane], s);
      dp = fmath::fma(d_o[c], values[c * kPadded + lane], dp);
    }
    const float p = fmath::exp(s * b.job.scale - lse);         // (att.6)
    const float ds = p * (dp - delta) * b.job.scale;           // (att.7)
    for (int j = 0; j < present; ++j) {                        // (att.8)
      const float scaled = __shfl_sync(kAllLanes, ds, j);
#pragma unroll
      for (int part = 0; part < Parts; ++part) {
        const int c = lane + part * kLanes;
        if (c < d) { dq[part] = fmath::fma(scaled, keys[c * kPadded + j], dq[part]); }
      }
    }
  }
  if (!here) { return; }
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int c = lane + part * kLanes;
    if (c < d) { b.job.dq[row * d + c] = b.job.dq[row * d + c] + dq[part]; }
  }
}

/// (att.9): dk and dv. Block: one item (keys) and kv head; warp: one key. Queries pass in tiles of 32.
template <int Parts>
__global__ void attention_key_grad(Backward b) {
  const AttentionDims dims = b.job.dims;
  const int d = static_cast<int>(dims.head_dim), heads = static_cast<int>(dims.q_heads / dims.kv_heads);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int thread = warp * kLanes + lane, threads = static_cast<int>(blockDim.y) * kLanes;
  const Index kv_head = blockIdx.y;
  const AttentionItem item = b.items[blockIdx.x];
  MINIRL_DYNAMIC_SHARED(float, shared);
  float* const q = shared;                              // transposed tiles (d, kPadded) of queries
  float* const d_o = q + d * kPadded;
  float* const k = d_o + d * kPadded + warp * 2 * d;    // (d) of this warp's key
  float* const v = k + d;

  const int key = item.first + warp;
  const bool here = key < item.end;
  const Index key_row = ((item.first_row + static_cast<Index>(key)) * dims.kv_heads + kv_head) * d;
  if (here) {
    for (int c = lane; c < d; c += kLanes) {
      k[c] = b.job.k[key_row + c];
      v[c] = b.job.v[key_row + c];
    }
  }
  float dk[Parts] = {}, dv[Parts] = {};

  const int queries = item.rows * heads;
  for (int first = item.first * heads; first < queries; first += kTile) {
    const int count = min(kTile, queries - first);
    __syncthreads();  // everybody has used the tile before
    for (int i = thread; i < kTile * d; i += threads) {
      const int n = i / d, c = i % d;
      const bool there = n < count;
      const Index at = query_row(item, dims, kv_head, first + n) * d + c;
      q[c * kPadded + n] = there ? b.job.q[at] : 0.0F;
      d_o[c * kPadded + n] = there ? b.job.d_o[at] : 0.0F;
    }
    __syncthreads();
    const int begin = max(0, key * heads - first);  // queries before it do not see the key
    if (!here || begin >= count) { continue; }
    const Index row = lane < count ? query_row(item, dims, kv_head, first + lane) : query_row(item, dims, kv_head, first);
    float s = 0.0F, dp = 0.0F;
    for (int c = 0; c < d; ++c) {
      s = fmath::fma(q[c * kPadded + lane], k[c], s);
      dp = fmath::fma(d_o[c * kPadded + lane], v[c], dp);
    }
    const float p = fmath::exp(s * b.job.scale - b.job.lse[row]);
    const float ds = p * (dp - b.delta[row]) * b.job.scale;
    for (int n = begin; n < count; ++n) {
      const float weight = __shfl_sync(kAllLanes, p, n), scaled = __shfl_sync(kAllLanes, ds, n);
#pragma unroll
      for (int part = 0; part < Parts; ++part) {
        const int c = lane + part * kLanes;
        if (c < d) {
          dv[part] = fmath::fma(weight, d_o[c * kPadded + n], dv[part]);
          dk[part] = fmath::fma(scaled, q[c * kPadded + n], dk[part]);
        }
      }
    }
  }
  if (!here) { return; }
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int c = lane + part * kLanes;
    if (c < d) {
      b.job.dk[key_row + c] = b.job.dk[key_row + c] + dk[part];
      b.job.dv[key_row + c] = b.job.dv[key_row + c] + dv[part];
    }
  }
}

__global__ void kv_store_kernel(AttentionDims dims, const float* k, const float* v, const KvRow* rows, float* pool_k, float* pool_v) {
  const KvRow row = rows[blockIdx.x];
  const Index d = dims.head_dim, width = dims.kv_heads * d;
  const Index slot = row.position % kTile;
  for (Index i = threadIdx.x; i < width; i += blockDim.x) {
    const Index head = i / d, c = i % d, at = (row.tile * dims.kv_heads + head) * d * kTile;
    pool_k[at + c * kTile + slot] = k[row.row * width + i];
    pool_v[at + slot * d + c] = v[row.row * width + i];
  }
}

/// Calls body(std::integral_constant<int, Parts>) for the smallest compiled width that holds d.
template <class Body>
void with_parts(Index d, Body body) {
  if (d <= 32) { return body(std::integral_constant<int, 1>{}); }
  if (d <= 64) { return body(std::integral_constant<int, 2>{}); }
  if (d <= 128) { return body(std::integral_constant<int, 4>{}); }
  if (d <= 256) { return body(std::integral_constant<int, 8>{}); }
  throw std::runtime_error("attention on the device has heads of at most 256 channels, not " + std::to_string(d));
}

template <class Kernel, class Argument>
void run(Kernel kernel, Index count, Index kv_heads, int warps, std::size_t shared, const Argument& argument, cudaStream_t stream) {
  if (count == 0) { return; }
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)), "shared memory of attention");
  launch(kernel, {.grid = dim3(static_cast<unsigned>(count), static_cast<unsigned>(kv_heads)), .block = dim3(kLanes, static_cast<unsigned>(warps)), .shared = shared, .stream = stream}, argument);
}

}  // namespace

void kv_store(const AttentionDims& dims, const float* k, const float* v, const KvRow* rows, Index count, float* pool_k, float* pool_v,
              cudaStream_t stream) {
  if (count == 0) { return; }
  launch(kv_store_kernel, {.grid = static_cast<unsigned>(count), .block = 128, .stream = stream}, dims, k, v, rows, pool_k, pool_v);
}

void attention_forward(const AttentionForwardJob<float>& job, const AttentionItem* items, Index count, const std::int32_t* tile_ids,
                       cudaStream_t stream) {
  const auto d = static_cast<std::size_t>(job.dims.head_dim);
  const std::size_t shared = (2 * d * kTile + kForwardWarps * d * kQueriesPerWarp) * sizeof(float);
  with_parts(job.dims.head_dim, [&](auto parts) {
    run(attention_forward_kernel<parts()>, count, job.dims.kv_heads, kForwardWarps, shared, Forward{job, items, tile_ids}, stream);
  });
}

void attention_backward(const AttentionBackwardJob<float>& job, const AttentionItem* query_items, Index query_count,
                        const AttentionItem* key_items, Index key_count, float* delta, cudaStream_t stream) {
  const auto d = static_cast<std::size_t>(job.dims.head_dim);
  const std::size_t shared = (2 * d * kPadded + kBackwardWarps * 2 * d) * sizeof(float);
  with_parts(job.dims.head_dim, [&](auto parts) {
    run(attention_query_grad<parts()>, query_count, job.dims.kv_heads, kBackwardWarps, shared, Backward{job, query_items, delta}, stream);
    run(attention_key_grad<parts()>, key_count, job.dims.kv_heads, kBackwardWarps, shared, Backward{job, key_items, delta}, stream);
  });
}

}  // namespace minirl::kernels::cuda
