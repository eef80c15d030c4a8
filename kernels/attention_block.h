// minirl kernels/attention_block.h -- what the host side and the kernels of attention agree on.
#pragma once
#include "kernels/dispatch.h"

namespace minirl::kernels {

/// Positions of a key tile: a constant of the numerics.
inline constexpr Index kKeyTile = 32;

struct AttentionDims {
  Index q_heads, kv_heads, head_dim;  // q_heads % kv_heads == 0; query head h reads kv head h / (q_heads / kv_heads)
};

/// Consecutive rows of ONE sequence at consecutive positions.
struct QueryRun {
  Index first_row, rows, first_position;
  const int* tiles;  // ids in the pool of the sequence's tiles 0 ... ceil((first_position + rows) / kKeyTile) - 1
};

/// The rows of `run` (or a part of a run), for the query heads of one kv head.
template <class T>
struct AttentionForwardJob {
  AttentionDims dims;
  T scale;
  const T *q, *pool_k, *pool_v;
  T *o, *lse;  // lse may be null
  QueryRun run;
  Index kv_head;
  T* scratch;  // forward_scratch(...) elements; unused in double
};

/// One whole sequence, for one kv head and its query heads.
template <class T>
struct AttentionBackwardJob {
  AttentionDims dims;
  T scale;
  const T *q, *k, *v, *pool_k, *o, *lse, *d_o;
  T *dq, *dk, *dv;
  QueryRun run;
  Index kv_head;
  T* scratch;  // backward_scratch(...) elements
};

inline constexpr Index kForwardQueries = 48;   // about so many queries (rows x heads of the group) share a tile while it is near
inline constexpr Index kBackwardQueries = 96;

/// Elements of each array of the softmax state: whole vectors.
constexpr Index softmax_lanes(Index queries) { return (queries + 15) / 16 * 16; }
/// Elements of scratch for `queries` queries.
constexpr Index forward_scratch(Index queries, Index head_dim) {
  constexpr Index kAhead = 4 * kKeyTile;  // scores that are computed ahead (kernels/attention_tile.h)
  return queries * (2 * head_dim + kKeyTile) + 4 * softmax_lanes(queries) + kAhead;
}
constexpr Index backward_scratch(Index queries, Index head_dim) {
  return queries * (3 * head_dim + 2) + 2 * kBackwardQueries * kKeyTile + 3 * kKeyTile * head_dim;
}

MINIRL_KERNEL(attention_forward_f32, void(const AttentionForwardJob<float>&));
MINIRL_KERNEL(attention_forward_f64, void(const AttentionForwardJob<double>&));
MINIRL_KERNEL(attention_backward_f32, void(const AttentionBackwardJob<float>&));
MINIRL_KERNEL(attention_backward_f64, void(const AttentionBackwardJob<double>&));

}  // namespace minirl::kernels
