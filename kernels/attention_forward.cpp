// minirl kernels/attention_forward.cpp -- online softmax over key tiles for a block of queries.
#include "kernels/attention_tile.h"
#include "kernels/reference/attention.h"

namespace minirl::kernels {
namespace MINIRL_ISA {
namespace {

// The softmax state of a block of queries; query i is row i / heads of the job and head i % heads of the group.
struct Block {
  float* q;  // (queries, d), packed
  float* o;  // (queries, d), not yet divided by l
  float* p;  // (queries, kKeyTile): scores, then their exponentials
  float *m, *l, *next, *rescale;
};

/// Scales and masks the products of one query and returns the new maximum. exp(-inf) is an exact zero.
MINIRL_INLINE float scale_and_max(float* s, Index present, float scale, float m) {
  for (Index j = 0; j < kKeyTile; ++j) { s[j] = s[j] * scale; }
  if (present < kKeyTile) {
    for (Index j = present; j < kKeyTile; ++j) { s[j] = -fmath::kInfinityF; }
  }
  return fmath::max(m, max_32(s));
}

void attend(const AttentionForwardJob<float>& job) {
  const Index d = job.dims.head_dim, heads = job.dims.q_heads / job.dims.kv_heads, queries = job.run.rows * heads;
  const Index lanes = softmax_lanes(queries);
  float* at = job.scratch;
  const auto take = [&](Index n) { return at += n, at - n; };
  Block block{take(queries * d), take(queries * d), take(queries * kKeyTile), take(lanes), take(lanes), take(lanes), take(lanes)};
  const auto query_of = [&](Index i) { return (job.run.first_row + i / heads) * job.dims.q_heads + job.kv_head * heads + i % heads; };

  for (Index i = 0; i < queries; ++i) {
    const float* q = job.q + query_of(i) * d;
    for (Index c = 0; c < d; ++c) {
      block.q[i * d + c] = q[c];
      block.o[i * d + c] = 0.0F;
    }
    block.m[i] = -fmath::kInfinityF;
    block.l[i] = 0.0F;
  }
  for (Index i = queries; i < lanes; ++i) { block.m[i] = block.next[i] = 0.0F; }  // so that whole vectors are computed

  const Index last = job.run.first_position + job.run.rows - 1, tiles = last / kKeyTile + 1;
  const auto at_tile = [&](Index tile) { return (job.run.tiles[tile] * job.dims.kv_heads + job.kv_head) * d * kKeyTile; };
  // Decoding: no row is done before the last tile, so that scores may be computed ahead.
  const bool few = job.run.rows == 1 && queries <= kFewQueries;
  float* const scores = block.p;
  float* const ahead = take(few ? kFewQueries * kTilesAtOnce * kKeyTile : 0);
  for (Index tile = 0; tile < tiles; ++tile) {
    const float *k = job.pool_k + at_tile(tile), *v = job.pool_v + at_tile(tile);
    // Rows before the tile are done; the others see `present` of its keys.
    const Index before = tile * kKeyTile - job.run.first_position, first = (before > 0 ? before : 0) * heads;
    const auto present = [&](Index i) {
      const Index n = i / heads - before + 1;
      return n < kKeyTile ? n : kKeyTile;
    };
    const Index place = tile % kTilesAtOnce;
    block.p = scores;
    if (few && tile - place + kTilesAtOnce <= tiles) {
      if (place == 0) {
        const float* keys[kTilesAtOnce];
        for (Index t = 0; t < kTilesAtOnce; ++t) { keys[t] = job.pool_k + at_tile(tile + t); }
        (queries == 1 ? score_tiles<1, kTilesAtOnce> : score_tiles<2, kTilesAtOnce>)(block.q, d, keys, ahead);
      }
      block.p = ahead + place * queries * kKeyTile;
    } else {
      product(queries - first, kKeyTile, d, {block.q + first * d, d, 1}, k, kKeyTile, block.p + first * kKeyTile, kKeyTile, false);
    }
    for (Index i = first; i < queries; ++i) { block.next[i] = scale_and_max(block.p + i * kKeyTile, present(i), job.scale, block.m[i]); }
    for (Index i = 0; i < lanes; ++i) { block.rescale[i] = fmath::exp(block.m[i] - block.next[i]); }
    for (Index i = first; i < queries; ++i) {
      float* p = block.p + i * kKeyTile;
      const float m = block.m[i] = block.next[i];
      for (Index j = 0; j < kKeyTile; ++j) { p[j] = fmath::exp(p[j] - m); }
    }
    for (Index i = first; i < queries; ++i) {
      block.l[i] = fmath::fma(block.rescale[i], block.l[i], tree_sum_32(block.p + i * kKeyTile));
      if (block.rescale[i] != 1.0F) {  // times 1 is exact
        float* o = block.o + i * d;
        for (Index c = 0; c < d; ++c) { o[c] = block.rescale[i] * o[c]; }
      }
    }
    product_present(queries - first, d, [&](Index i) { return present(first + i); }, block.p + first * kKeyTile, v, d, block.o + first * d);
  }

  for (Index i = 0; i < queries; ++i) {
    float* o = job.o + query_of(i) * d;
    const float l = block.l[i];
    for (Index c = 0; c < d; ++c) { o[c] = block.o[i * d + c] / l; }
    if (job.lse != nullptr) { job.lse[query_of(i)] = block.m[i] + fmath::log(l); }
  }
}

}  // namespace
}  // namespace MINIRL_ISA

MINIRL_KERNEL_IMPL(attention_forward_f32, attend)
MINIRL_KERNEL_IMPL(attention_forward_f64, reference::attention_forward<double>)

}  // namespace minirl::kernels
