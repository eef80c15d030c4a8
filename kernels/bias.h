// minirl kernels/bias.h -- a vector added to every row; docs/math/bias.md
//   y_ri   = x_ri + b_i                                                   (bias.1)
//   db_i  += sum_r dy_ri, one chain over rows in ascending order          (bias.2)
// Shapes: x, dy (R, M); b, db (M).
#pragma once
#include "kernels/rows.h"

namespace minirl::kernels {

/// In place.
template <class T>
struct AddBias {
  using Scalar = T;
  T* x;
  const T* b;
  Index M;
  template <class Row>
  MINIRL_HD void operator()(Row row, Index r) const {
    T* xr = x + r * M;
    const T* br = b;
    row.each(M, [=] MINIRL_HD(Index i) { xr[i] += br[i]; });  // (bias.1)
  }
};

/// One program row owns kLanes columns; the chain continues from the stored gradient, so that
/// micro-batch cuts change no bit (R10).
template <class T>
struct BiasGrad {
  static constexpr Index kColumns = kLanes;
  using Scalar = T;
  const T* dy;
  T* db;
  Index R, M;
  template <class Row>
  MINIRL_HD void operator()(Row row, Index block) const {
    const Index first = block * kColumns;
    const Index n = M - first < kColumns ? M - first : kColumns;
    const Index rows = R;
    const Index width = M;
    for (Index r = 0; r < rows; ++r) {
      const T* g = dy + r * width + first;
      T* d = db + first;
      row.each(n, [=] MINIRL_HD(Index i) { d[i] += g[i]; });  // (bias.2)
    }
  }
};

}  // namespace minirl::kernels
