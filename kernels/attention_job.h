// minirl kernels/attention_job.h -- what a run of attention is given, on any device.
#pragma once
#include "kernels/order.h"

namespace minirl::kernels {

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

}  // namespace minirl::kernels
