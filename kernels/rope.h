// minirl kernels/rope.h -- rotary position embedding, rotate-half layout; docs/math/rope.md
//   y_i       = x_i cos_i - x_{i+h} sin_i                 h = d/2, i < h          (rope.1)
//   y_{i+h}   = x_{i+h} cos_i + x_i sin_i                                         (rope.2)
// with angles position * theta^(-2i/d), whose cosines and sines are tabulated once in double and rounded
// (R5). The rotation is orthogonal: backward is the rotation by the opposite angle             (rope.3)
// Shapes: x (N, H, d), position (N), cos/sin (positions, d/2).
#pragma once
#include "kernels/rows.h"

namespace minirl::kernels {

/// In place over one (token, head) row. `direction` is +1 forward, -1 backward.
template <class T>
struct Rope {
  using Scalar = T;
  T* x;
  const T *cosine, *sine;
  const std::int32_t* position;
  Index heads, d;
  T direction;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const Index h = d / 2;
    T* lo = x + r * d;
    T* hi = lo + h;
    const T* c = cosine + static_cast<Index>(position[r / heads]) * h;
    const T* s = sine + static_cast<Index>(position[r / heads]) * h;
    const T sign = direction;
    row.each(h, [=] MINIRL_HD(Index i) {
      const T a = lo[i];
      const T b = hi[i];
      const T sn = sign * s[i];
      lo[i] = a * c[i] - b * sn;  // (rope.1)
      hi[i] = b * c[i] + a * sn;  // (rope.2)
    });
  }
};

}  // namespace minirl::kernels
