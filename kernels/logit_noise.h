// minirl kernels/logit_noise.h -- seeded Gaussian noise on logits: a sampler that does not agree with
// the trainer, on purpose (the mismatch dial).
#pragma once
#include "core/rng.h"
#include "kernels/rows.h"

namespace minirl::kernels {

/// logit_j += deviation * N_j. The normal of id j at this position comes from words 2 (j mod 2) and
/// 2 (j mod 2) + 1 of block j / 2 under the row's key, by Box and Muller.                    (noise.1)
/// logits (R, stride), V ids that exist; key and position (R).
template <class T>
struct LogitNoise {
  using Scalar = T;
  T* logits;
  const rng::Key* key;
  const std::uint32_t* position;
  Index V, stride;
  T deviation;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    T* l = logits + r * stride;
    const rng::Key k = key[r];
    const std::uint32_t at = position[r];
    const T s = deviation;
    row.each(V, [=] MINIRL_HD(Index j) {
      const rng::Words4 words = k.words(static_cast<std::uint32_t>(j / 2), at);
      const std::uint32_t a = j % 2 == 0 ? words.w[0] : words.w[2];
      const std::uint32_t b = j % 2 == 0 ? words.w[1] : words.w[3];
      const float radius = fmath::sqrt(2.0F * rng::neg_log_uniform(a));
      const double turn = (static_cast<double>(b) + 0.5) * 2.3283064365386963e-10;
      l[j] += s * static_cast<T>(static_cast<double>(radius) * fmath::cos(6.283185307179586 * turn));
    });
  }
};

}  // namespace minirl::kernels
