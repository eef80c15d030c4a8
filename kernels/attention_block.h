// minirl kernels/attention_block.h -- what the host side and the kernels of attention agree on.
#pragma once
#include "kernels/attention_job.h"
#include "kernels/dispatch.h"

namespace minirl::kernels {

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
