// minirl kernels/attention_backward.cpp -- gradients of one sequence and kv head, key tile by key tile.
#include "kernels/attention_tile.h"
#include "kernels/reference/attention.h"

namespace minirl::kernels {
namespace MINIRL_ISA {
namespace {

/// (att.5) sum of d_o o in 32 lanes and the fixed tree.
MINIRL_INLINE float row_delta(const float* d_o, const float* o, Index d) {
  float lane[kKeyTile];
  for (Index l = 0; l < kKeyTile; ++l) { lane[l] = 0.0F; }
  Index c = 0;
  for (; c + kKeyTile <= d; c += kKeyTile) {
    for (Index l = 0; l < kKeyTile; ++l) { lane[l] = fmath::fma(d_o[c + l], o[c + l], lane[l]); }
  }
  for (Index l = 0; c + l < d; ++l) { lane[l] = fmath::fma(d_o[c + l], o[c + l], lane[l]); }
  return tree_sum_32(lane);
}

/// (att.6), (att.7) of one query: scores become probabilities p, products with d_o become score gradients.
MINIRL_INLINE void score_gradients(float* p, float* ds, Index present, float scale, float lse, float delta) {
  for (Index j = 0; j < kKeyTile; ++j) { p[j] = fmath::exp(p[j] * scale - lse); }
  for (Index j = 0; j < kKeyTile; ++j) { ds[j] = p[j] * (ds[j] - delta) * scale; }
  if (present < kKeyTile) {
    for (Index j = present; j < kKeyTile; ++j) { p[j] = ds[j] = 0.0F; }
  }
}

void backward(const AttentionBackwardJob<float>& job) {
  const Index d = job.dims.head_dim, q_heads = job.dims.q_heads, kv_heads = job.dims.kv_heads, heads = q_heads / kv_heads;
  const Index rows = job.run.rows, queries = rows * heads;
  float* at = job.scratch;
  const auto take = [&](Index n) { return at += n, at - n; };
  // Query i is row i / heads and head i % heads of the group: the order of the sums of dk and dv.
  float *const q = take(queries * d), *const d_o = take(queries * d), *const dq = take(queries * d);
  float *const lse = take(queries), *const delta = take(queries);
  float *const p = take(kBackwardQueries * kKeyTile), *const ds = take(kBackwardQueries * kKeyTile);
  float *const v_transposed = take(kKeyTile * d), *const dk = take(kKeyTile * d), *const dv = take(kKeyTile * d);
  const auto query_of = [&](Index i) { return (job.run.first_row + i / heads) * q_heads + job.kv_head * heads + i % heads; };

  for (Index i = 0; i < queries; ++i) {
    const Index query = query_of(i);
    for (Index c = 0; c < d; ++c) {
      q[i * d + c] = job.q[query * d + c];
      d_o[i * d + c] = job.d_o[query * d + c];
      dq[i * d + c] = 0.0F;
    }
    lse[i] = job.lse[query];
    delta[i] = row_delta(job.d_o + query * d, job.o + query * d, d);
  }

  for (Index first_key = 0; first_key < rows; first_key += kKeyTile) {
    const Index keys = rows - first_key < kKeyTile ? rows - first_key : kKeyTile;
    const Index key_row = (job.run.first_row + first_key) * kv_heads + job.kv_head, stride = kv_heads * d;
    const float* k_transposed = job.pool_k + (job.run.tiles[first_key / kKeyTile] * kv_heads + job.kv_head) * d * kKeyTile;
    for (Index i = 0; i < kKeyTile * d; ++i) { v_transposed[i] = dk[i] = dv[i] = 0.0F; }
    transpose(job.v + key_row * d, stride, keys, d, v_transposed, kKeyTile);

    for (Index first = first_key * heads; first < queries; first += kBackwardQueries) {
      const Index count = queries - first < kBackwardQueries ? queries - first : kBackwardQueries;
      const auto present = [&](Index i) {
        const Index n = (first + i) / heads - first_key + 1;
        return n < keys ? n : keys;
      };
      product(count, kKeyTile, d, {q + first * d, d, 1}, k_transposed, kKeyTile, p, kKeyTile, false);
      product(count, kKeyTile, d, {d_o + first * d, d, 1}, v_transposed, kKeyTile, ds, kKeyTile, false);
      for (Index i = 0; i < count; ++i) {
        score_gradients(p + i * kKeyTile, ds + i * kKeyTile, present(i), job.scale, lse[first + i], delta[first + i]);
      }
      // A key's chain begins with its masked queries, if any: fma(0, x, +0) is +0, so they change nothing.
      product(keys, d, count, {p, 1, kKeyTile}, d_o + first * d, d, dv, d, true);
      product(keys, d, count, {ds, 1, kKeyTile}, q + first * d, d, dk, d, true);
      product_present(count, d, present, ds, job.k + key_row * d, stride, dq + first * d);
    }
    for (Index j = 0; j < keys; ++j) {
      float *to_k = job.dk + key_row * d + j * stride, *to_v = job.dv + key_row * d + j * stride;
      for (Index c = 0; c < d; ++c) {
        to_k[c] = to_k[c] + dk[j * d + c];
        to_v[c] = to_v[c] + dv[j * d + c];
      }
    }
  }
  for (Index i = 0; i < queries; ++i) {
    float* to = job.dq + query_of(i) * d;
    for (Index c = 0; c < d; ++c) { to[c] = to[c] + dq[i * d + c]; }
  }
}

}  // namespace
}  // namespace MINIRL_ISA

MINIRL_KERNEL_IMPL(attention_backward_f32, backward)
MINIRL_KERNEL_IMPL(attention_backward_f64, reference::attention_backward<double>)

}  // namespace minirl::kernels
