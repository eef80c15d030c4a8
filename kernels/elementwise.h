// minirl kernels/elementwise.h -- y = a + b and y += x, in blocks of kBlock elements a row.
#pragma once
#include "kernels/rows.h"

namespace minirl::kernels {

inline constexpr Index kBlock = 1024;
MINIRL_HD inline Index blocks_of(Index n) { return (n + kBlock - 1) / kBlock; }
MINIRL_HD inline Index block_size(Index n, Index block) { return n - block * kBlock < kBlock ? n - block * kBlock : kBlock; }

template <class T>
struct Add {
  using Scalar = T;
  const T *a, *b;
  T* y;
  Index n;
  template <class Row> MINIRL_HD void operator()(Row row, Index block) const {
    const T* ar = a + block * kBlock;
    const T* br = b + block * kBlock;
    T* yr = y + block * kBlock;
    row.each(block_size(n, block), [=] MINIRL_HD(Index i) { yr[i] = ar[i] + br[i]; });
  }
};

template <class T>
struct AddInto {
  using Scalar = T;
  const T* x;
  T* y;
  Index n;
  template <class Row> MINIRL_HD void operator()(Row row, Index block) const {
    const T* xr = x + block * kBlock;
    T* yr = y + block * kBlock;
    row.each(block_size(n, block), [=] MINIRL_HD(Index i) { yr[i] += xr[i]; });
  }
};

}  // namespace minirl::kernels
