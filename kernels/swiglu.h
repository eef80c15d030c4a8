// minirl kernels/swiglu.h -- SwiGLU; derivation: docs/math/swiglu.md
//   y   = silu(g) u,            silu(g) = g sigma(g),  sigma(g) = 1 / (1 + e^-g)     (swi.1)
//   du += dy silu(g)                                                                (swi.2)
//   dg += dy u sigma(g) (1 + g (1 - sigma(g)))                                      (swi.3)
// Shapes: all (R, F).
#pragma once
#include "kernels/rows.h"

namespace minirl::kernels {

template <class T>
struct SwigluForward {
  using Scalar = T;
  const T *gate, *up;
  T* y;
  Index F;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* g = gate + r * F;
    const T* u = up + r * F;
    T* yr = y + r * F;
    row.each(F, [=] MINIRL_HD(Index i) { yr[i] = g[i] / (T(1) + fmath::exp(-g[i])) * u[i]; });  // (swi.1)
  }
};

/// Adds to dgate and dup.
template <class T>
struct SwigluBackward {
  using Scalar = T;
  const T *gate, *up, *dy;
  T *dgate, *dup;
  Index F;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* g = gate + r * F;
    const T* u = up + r * F;
    const T* d = dy + r * F;
    T* dg = dgate + r * F;
    T* du = dup + r * F;
    row.each(F, [=] MINIRL_HD(Index i) {
      const T sigma = T(1) / (T(1) + fmath::exp(-g[i]));
      du[i] += d[i] * (g[i] * sigma);                                    // (swi.2)
      dg[i] += d[i] * u[i] * (sigma * (T(1) + g[i] * (T(1) - sigma)));   // (swi.3)
    });
  }
};

}  // namespace minirl::kernels
