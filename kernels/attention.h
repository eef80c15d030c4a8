// minirl kernels/attention.h -- causal grouped-query attention over key tiles; equations and orders: docs/math/attention.md.
//
// Keys and values live in tiles of kKeyTile positions, at absolute positions of their sequence. Training
// builds a scratch pool with kv_store and then calls the same attention_forward that decoding calls with
// its cache: decoding token by token, prefilling and training give the same bits (R1, R4, R5).
//
// Canonical order of one query at position p, for tiles 0 ... p / kKeyTile in ascending order:
//   s_j = chain over the head's width (q, k_j) * scale;  m' = max(m, s);  c = exp(m - m')
//   p_j = exp(s_j - m');  l = fma(c, l, tree sum of the tile's p);  o = c o, then o = fma(p_j, v_j, o) ascending
// An absent key (behind p) is an exact zero in the tree and is not touched in the sum of o.
#pragma once
#include <span>

#include "core/tensor.h"
#include "kernels/attention_block.h"

namespace minirl::kernels {

/// Tiles of keys and values of any number of sequences, f32 or f64. Position p of a sequence lives in the
/// sequence's tile p / kKeyTile, slot p % kKeyTile; several sequences may share a tile.
struct KvPool {
  Tensor k;  // (tiles, kv_heads, head_dim, kKeyTile): a tile is stored transposed, keys along the last dimension
  Tensor v;  // (tiles, kv_heads, kKeyTile, head_dim)
};

/// Writes the keys and values of the runs' rows to their tiles. k_NGd, v_NGd: (N, kv_heads, head_dim).
void kv_store(const Exec& exec, const AttentionDims& dims, const Tensor& k_NGd, const Tensor& v_NGd, std::span<const QueryRun> runs,
              KvPool& pool);

/// (att.1)-(att.4). q_NHd, o_NHd: (N, q_heads, head_dim); o is overwritten in the rows of the runs.
/// lse_NH: (N, q_heads), log of the softmax denominators (nats), or null when no backward follows.
/// The pool holds every position up to each run's last.
void attention_forward(const Exec& exec, const AttentionDims& dims, double scale, const Tensor& q_NHd, std::span<const QueryRun> runs,
                       const KvPool& pool, Tensor& o_NHd, Tensor* lse_NH);

/// (att.5)-(att.9); adds to dq (N, q_heads, head_dim), dk and dv (N, kv_heads, head_dim). The runs are whole
/// sequences from position 0; q, k, v, pool, o, lse are those of the forward; d_o is the gradient of o.
void attention_backward(const Exec& exec, const AttentionDims& dims, double scale, const Tensor& q, const Tensor& k, const Tensor& v,
                        std::span<const QueryRun> runs, const KvPool& pool, const Tensor& o, const Tensor& lse, const Tensor& d_o,
                        Tensor& dq, Tensor& dk, Tensor& dv);

}  // namespace minirl::kernels
