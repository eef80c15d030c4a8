// minirl kernels/adamw.h -- decoupled weight decay Adam (Loshchilov and Hutter, ICLR 2019); docs/math/adamw.md
//   m  = b1 m + (1 - b1) c g,      v = b2 v + (1 - b2) (c g)^2             (adam.1)
//   w -= lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay w)      (adam.2)
// c is the clipping factor of the global gradient norm                    (adam.3)
#pragma once
#include "kernels/elementwise.h"

namespace minirl::kernels {

struct AdamWScalars {
  float lr, beta1, beta2, eps, decay;
  float correction1, correction2;  // 1 / (1 - beta^t)
  float clip;                      // c
};

struct AdamW {
  using Scalar = float;
  float *w, *m, *v;
  const float* g;
  Index n;
  AdamWScalars a;
  template <class Row> MINIRL_HD void operator()(Row row, Index block) const {
    float* wr = w + block * kBlock;
    float* mr = m + block * kBlock;
    float* vr = v + block * kBlock;
    const float* gr = g + block * kBlock;
    const AdamWScalars s = a;
    row.each(block_size(n, block), [=] MINIRL_HD(Index i) {
      const float grad = gr[i] * s.clip;
      const float mi = s.beta1 * mr[i] + (1.0F - s.beta1) * grad;             // (adam.1)
      const float vi = s.beta2 * vr[i] + (1.0F - s.beta2) * (grad * grad);
      mr[i] = mi;
      vr[i] = vi;
      const float step = (mi * s.correction1) / (fmath::sqrt(vi * s.correction2) + s.eps);
      wr[i] -= s.lr * (step + s.decay * wr[i]);                               // (adam.2)
    });
  }
};

/// Sum of squares of each block of kBlock gradients, in double; the caller adds the blocks in order.
struct SquaredNorm {
  using Scalar = double;
  const float* g;
  double* partial;
  Index n;
  template <class Row> MINIRL_HD void operator()(Row row, Index block) const {
    const float* gr = g + block * kBlock;
    const double total = row.sum(block_size(n, block), [=] MINIRL_HD(Index i) {
      const double x = static_cast<double>(gr[i]);
      return x * x;
    });
    double* out = partial + block;
    row.once([=] MINIRL_HD() { *out = total; });
  }
};

}  // namespace minirl::kernels
