// minirl kernels/adamw.h -- decoupled weight decay Adam (Loshchilov and Hutter, ICLR 2019); docs/math/adamw.md
//   m  = b1 m + (1 - b1) c g,      v = b2 v + (1 - b2) (c g)^2             (adam.1)
//   w -= lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay w)      (adam.2)
// c is the clipping factor of the global gradient norm                    (adam.3)
#pragma once
#include "core/rng.h"
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

/// bf16 with stochastic rounding: up with the probability of the part that is cut off, so that the
/// expectation is the value (adam.4). `noise` is uniform in [0, 2^16). A value that is not finite stays so,
/// and none becomes infinite.
MINIRL_HD inline std::uint16_t round_stochastically(float value, std::uint32_t noise) {
  const std::uint32_t u = fmath::bits_as<std::uint32_t>(value);
  const std::uint32_t up = (u + (noise & 0xffffU)) >> 16;
  const bool edge = (u & 0x7f800000U) == 0x7f800000U || (up & 0x7f80U) == 0x7f80U;
  return static_cast<std::uint16_t>(edge ? u >> 16 : up);
}

/// (adam.1), (adam.2) in f32 arithmetic over weights and moments of which each may be stored as bf16 (bit
/// patterns), rounded stochastically. The noise of element i is a function of (key, i).
template <class Weight, class Moment>
struct AdamWStored {
  using Scalar = float;
  Weight* w;
  Moment *m, *v;
  const float* g;
  Index n;
  AdamWScalars a;
  rng::Key key;  // of this parameter and step
  MINIRL_HD static float load(float x) { return x; }
  MINIRL_HD static float load(std::uint16_t x) { return fmath::bits_as<float>(static_cast<std::uint32_t>(x) << 16); }
  MINIRL_HD static void store(float* at, float x, std::uint32_t) { *at = x; }
  MINIRL_HD static void store(std::uint16_t* at, float x, std::uint32_t noise) { *at = round_stochastically(x, noise); }
  template <class Row> MINIRL_HD void operator()(Row row, Index block) const {
    const Index first = block * kBlock;
    Weight* wr = w + first;
    Moment* mr = m + first;
    Moment* vr = v + first;
    const float* gr = g + first;
    const AdamWScalars s = a;
    const rng::Key k = key;
    row.each(block_size(n, block), [=] MINIRL_HD(Index i) {
      const rng::Words4 noise = k.words(static_cast<std::uint32_t>(first + i), static_cast<std::uint32_t>((first + i) >> 32));
      const float grad = gr[i] * s.clip;
      const float wi = load(wr[i]);
      const float mi = s.beta1 * load(mr[i]) + (1.0F - s.beta1) * grad;             // (adam.1)
      const float vi = s.beta2 * load(vr[i]) + (1.0F - s.beta2) * (grad * grad);
      store(mr + i, mi, noise.w[0]);
      store(vr + i, vi, noise.w[1]);
      const float step = (mi * s.correction1) / (fmath::sqrt(vi * s.correction2) + s.eps);
      store(wr + i, wi - s.lr * (step + s.decay * wi), noise.w[2]);                 // (adam.2)
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
