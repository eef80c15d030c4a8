// minirl kernels/embedding.h -- table lookup; docs/math/embedding.md
//   y_n   = w[id_n]                                                       (emb.1)
//   dw[v] += sum over n with id_n = v of dy_n, ascending n                (emb.2)
// Shapes: w, dw (V, D); ids (N); y, dy (N, D).
#pragma once
#include "kernels/rows.h"

namespace minirl::kernels {

template <class T>
struct EmbeddingForward {
  using Scalar = T;
  const T* w;
  const std::int32_t* ids;
  T* y;
  Index D;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* src = w + static_cast<Index>(ids[r]) * D;
    T* dst = y + r * D;
    row.each(D, [=] MINIRL_HD(Index i) { dst[i] = src[i]; });
  }
};

/// One program row owns one distinct id: the rows `order[begin[r] .. begin[r+1])`, ascending, all have
/// it. No two rows write the same place, so no atomics and one order (R10).
template <class T>
struct EmbeddingBackward {
  using Scalar = T;
  const T* dy;
  const std::int32_t *order, *begin, *ids;
  T* dw;
  Index D;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const Index width = D;
    const std::int32_t first = begin[r];
    const std::int32_t last = begin[r + 1];
    T* dst = dw + static_cast<Index>(ids[order[first]]) * width;
    for (std::int32_t at = first; at < last; ++at) {
      const T* src = dy + static_cast<Index>(order[at]) * width;
      row.each(width, [=] MINIRL_HD(Index i) { dst[i] += src[i]; });  // (emb.2)
    }
  }
};

}  // namespace minirl::kernels
