// minirl kernels/reference/attention.h -- plain loops that define the bits of attention (docs/math/attention.md).
// T is float or double. The double path of the model runs them; the tests hold the fast path to their bits.
#pragma once
#include "core/fmath.h"
#include "kernels/attention_block.h"

namespace minirl::kernels::MINIRL_ISA::reference {

/// The fixed tree over 32 lanes; destroys them.
template <class T>
T tree_sum(T* lane) {
  for (Index h = kKeyTile / 2; h > 0; h /= 2) {
    for (Index l = 0; l < h; ++l) { lane[l] = lane[l] + lane[l + h]; }
  }
  return lane[0];
}

/// chain(0; a, b): the stride of b is in elements.
template <class T>
T dot(const T* a, const T* b, Index stride, Index n) {
  T acc = 0;
  for (Index i = 0; i < n; ++i) { acc = fmath::fma(a[i], b[i * stride], acc); }
  return acc;
}

/// (att.1)-(att.4) of every row and query head of the job.
template <class T>
void attention_forward(const AttentionForwardJob<T>& job) {
  const auto& [q_heads, kv_heads, d] = job.dims;
  const Index heads = q_heads / kv_heads;
  for (Index i = 0; i < job.run.rows * heads; ++i) {
    const Index row = job.run.first_row + i / heads, position = job.run.first_position + i / heads;
    const Index query = row * q_heads + job.kv_head * heads + i % heads;
    const T* q = job.q + query * d;
    T* o = job.o + query * d;
    for (Index c = 0; c < d; ++c) { o[c] = 0; }
    T m = -T(__builtin_huge_valf()), l = 0;
    for (Index tile = 0; tile * kKeyTile <= position; ++tile) {
      const Index at = (job.run.tiles[tile] * kv_heads + job.kv_head) * d * kKeyTile;
      const T *k = job.pool_k + at, *v = job.pool_v + at;
      const Index present = position + 1 - tile * kKeyTile < kKeyTile ? position + 1 - tile * kKeyTile : kKeyTile;
      T s[kKeyTile], p[kKeyTile], lane[kKeyTile];
      T next = m;
      for (Index j = 0; j < present; ++j) {
        s[j] = dot(q, k + j, kKeyTile, d) * job.scale;
        next = fmath::max(next, s[j]);
      }
      for (Index j = 0; j < kKeyTile; ++j) { lane[j] = p[j] = j < present ? fmath::exp(s[j] - next) : T(0); }
      const T c_old = fmath::exp(m - next);
      l = fmath::fma(c_old, l, tree_sum(lane));
      m = next;
      for (Index c = 0; c < d; ++c) { o[c] = c_old * o[c]; }
      for (Index j = 0; j < present; ++j) {
        for (Index c = 0; c < d; ++c) { o[c] = fmath::fma(p[j], v[j * d + c], o[c]); }
      }
    }
    for (Index c = 0; c < d; ++c) { o[c] = o[c] / l; }
    if (job.lse != nullptr) { job.lse[query] = m + fmath::log(l); }
  }
}

/// (att.5)-(att.9). Uses head_dim elements of scratch.
template <class T>
void attention_backward(const AttentionBackwardJob<T>& job) {
  const auto& [q_heads, kv_heads, d] = job.dims;
  const Index heads = q_heads / kv_heads, rows = job.run.rows;
  T* const sum = job.scratch;
  const auto query_of = [&, q_heads = q_heads](Index row, Index head) {
    return (job.run.first_row + row) * q_heads + job.kv_head * heads + head;
  };
  const auto key_of = [&, kv_heads = kv_heads](Index row) { return (job.run.first_row + row) * kv_heads + job.kv_head; };
  const auto delta = [&, d = d](Index query) {  // (att.5)
    T lane[kKeyTile] = {};
    for (Index c = 0; c < d; ++c) {
      lane[c % kKeyTile] = fmath::fma(job.d_o[query * d + c], job.o[query * d + c], lane[c % kKeyTile]);
    }
    return tree_sum(lane);
  };
  const auto probability = [&, d = d](Index query, Index key) {  // (att.6)
    return fmath::exp(dot(job.q + query * d, job.k + key * d, Index{1}, d) * job.scale - job.lse[query]);
  };
  const auto score_grad = [&, d = d](Index query, Index key, T query_delta) {  // (att.7)
    return probability(query, key) * (dot(job.d_o + query * d, job.v + key * d, Index{1}, d) - query_delta) * job.scale;
  };
  const auto clear = [&, d = d] { for (Index c = 0; c < d; ++c) { sum[c] = 0; } };
  const auto add_scaled = [&, d = d](T a, const T* x) { for (Index c = 0; c < d; ++c) { sum[c] = fmath::fma(a, x[c], sum[c]); } };
  const auto add_to = [&, d = d](T* grad) { for (Index c = 0; c < d; ++c) { grad[c] = grad[c] + sum[c]; } };

  for (Index i = 0; i < rows; ++i) {  // (att.8), (att.9): keys ascending
    for (Index head = 0; head < heads; ++head) {
      const Index query = query_of(i, head);
      const T query_delta = delta(query);
      clear();
      for (Index j = 0; j <= i; ++j) { add_scaled(score_grad(query, key_of(j), query_delta), job.k + key_of(j) * d); }
      add_to(job.dq + query * d);
    }
  }
  for (Index j = 0; j < rows; ++j) {  // queries ascending, the heads of a query ascending
    const Index key = key_of(j);
    clear();
    for (Index i = j * heads; i < rows * heads; ++i) {
      const Index query = query_of(i / heads, i % heads);
      add_scaled(score_grad(query, key, delta(query)), job.q + query * d);
    }
    add_to(job.dk + key * d);
    clear();
    for (Index i = j * heads; i < rows * heads; ++i) {
      const Index query = query_of(i / heads, i % heads);
      add_scaled(probability(query, key), job.d_o + query * d);
    }
    add_to(job.dv + key * d);
  }
}

}  // namespace minirl::kernels::MINIRL_ISA::reference
