// minirl kernels/rmsnorm.h -- RMSNorm over the last dimension; derivation: docs/math/rmsnorm.md
//   s    = (mean_i x_i^2 + eps)^(-1/2)                                    (rms.1)
//   y_i  = x_i s w_i                                                      (rms.2)
//   dx_i = s (w_i dy_i - x_i s^2 / D sum_j w_j dy_j x_j)                  (rms.3)
//   dw_i = sum_r dy_ri x_ri s_r, one chain over rows in ascending order   (rms.4)
// Shapes: x, y, dx, dy (R, D); w, dw (D); s (R).
#pragma once
#include "kernels/rows.h"

namespace minirl::kernels {

template <class T>
struct RmsNormForward {
  using Scalar = T;
  const T *x, *w;
  T *y, *s;
  Index D;
  T eps;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* xr = x + r * D;
    const T* wr = w;
    T* yr = y + r * D;
    const T mean = row.sum(D, [=] MINIRL_HD(Index i) { return xr[i] * xr[i]; }) / static_cast<T>(D);
    const T inv = T(1) / fmath::sqrt(mean + eps);                         // (rms.1)
    row.each(D, [=] MINIRL_HD(Index i) { yr[i] = xr[i] * inv * wr[i]; });  // (rms.2)
    T* sr = s + r;
    row.once([=] MINIRL_HD() { *sr = inv; });
  }
};

/// Adds to dx.
template <class T>
struct RmsNormBackward {
  using Scalar = T;
  const T *x, *w, *s, *dy;
  T* dx;
  Index D;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* xr = x + r * D;
    const T* g = dy + r * D;
    const T* wr = w;
    T* d = dx + r * D;
    const T inv = s[r];
    const T dot = row.sum(D, [=] MINIRL_HD(Index j) { return wr[j] * g[j] * xr[j]; });
    const T c = inv * inv * dot / static_cast<T>(D);
    row.each(D, [=] MINIRL_HD(Index i) { d[i] += inv * (wr[i] * g[i] - xr[i] * c); });  // (rms.3)
  }
};

/// Adds to dw. One program row owns kColumns columns and walks all R rows in order, continuing the
/// chain from the stored gradient, so micro-batch cuts change no bit (R10).
template <class T>
struct RmsNormWeightGrad {
  static constexpr Index kColumns = kLanes;
  using Scalar = T;
  const T *x, *s, *dy;
  T* dw;
  Index R, D;
  template <class Row> MINIRL_HD void operator()(Row row, Index block) const {
    const Index first = block * kColumns;
    const Index n = D - first < kColumns ? D - first : kColumns;
    const Index rows = R;
    const Index width = D;
    for (Index r = 0; r < rows; ++r) {
      const T* xr = x + r * width + first;
      const T* g = dy + r * width + first;
      T* d = dw + first;
      const T inv = s[r];
      row.each(n, [=] MINIRL_HD(Index i) { d[i] += g[i] * (xr[i] * inv); });  // (rms.4)
    }
  }
};

}  // namespace minirl::kernels
