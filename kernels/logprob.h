// minirl kernels/logprob.h -- log-softmax at temperature T of one chosen token; docs/math/logprob.md
//   z_j   = logit_j / T                                                    (lp.1)
//   lse   = m + log sum_j e^(z_j - m),   m = max_j z_j                     (lp.2)
//   logp  = z_a - lse                                                      (lp.3)
//   H     = lse - sum_j e^(z_j - lse) z_j                                  (lp.4)
//   dlogit_j = (dlogp (1[j = a] - p_j) - dH p_j (log p_j + H)) / T         (lp.5)
// The sampler and the trainer both take log mu and log pi from this one program (R6).
// Shapes: logits (R, stride), of which the first V columns are ids that exist and the rest is padding of
// the head that can never be sampled; target, logp, lse, entropy (R).
#pragma once
#include "core/rng.h"
#include "kernels/rows.h"

namespace minirl::kernels {

template <class T>
struct LogProb {
  using Scalar = T;
  const T* logits;
  const std::int32_t* target;
  T *logp, *lse, *entropy;  // entropy may be null
  Index V, stride;
  T inverse_temperature;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* l = logits + r * stride;
    const T scale = inverse_temperature;
    const T m = row.max(V, [=] MINIRL_HD(Index j) { return l[j] * scale; });
    const T total = row.sum(V, [=] MINIRL_HD(Index j) { return fmath::exp(l[j] * scale - m); });
    const T log_sum = m + fmath::log(total);                               // (lp.2)
    T H = T(0);
    if (entropy != nullptr) {
      H = log_sum - row.sum(V, [=] MINIRL_HD(Index j) {                    // (lp.4)
            const T z = l[j] * scale;
            return fmath::exp(z - log_sum) * z;
          });
    }
    T* out = logp + r;
    T* out_lse = lse + r;
    T* out_entropy = entropy == nullptr ? nullptr : entropy + r;
    const T chosen = l[target[r]] * scale - log_sum;                       // (lp.3)
    row.once([=] MINIRL_HD() {
      *out = chosen;
      *out_lse = log_sum;
      if (out_entropy != nullptr) { *out_entropy = H; }
    });
  }
};

/// Overwrites the logits by their gradient (lp.5). `dentropy` and `entropy` may be null together.
template <class T>
struct LogProbBackward {
  using Scalar = T;
  T* logits;
  const std::int32_t* target;
  const T *lse, *entropy, *dlogp, *dentropy;
  Index V, stride;
  T inverse_temperature;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    T* l = logits + r * stride;
    const T scale = inverse_temperature;
    const T log_sum = lse[r];
    const T g = dlogp[r];
    const std::int32_t a = target[r];
    if (dentropy == nullptr) {
      row.each(V, [=] MINIRL_HD(Index j) {
        const T hit = static_cast<std::int32_t>(j) == a ? g : T(0);
        l[j] = (hit - g * fmath::exp(l[j] * scale - log_sum)) * scale;
      });
    } else {
      const T dH = dentropy[r];
      const T H = entropy[r];
      row.each(V, [=] MINIRL_HD(Index j) {
        const T hit = static_cast<std::int32_t>(j) == a ? g : T(0);
        const T log_p = l[j] * scale - log_sum;
        l[j] = (hit - fmath::exp(log_p) * (g + dH * (log_p + H))) * scale;
      });
    }
    const Index used = V;
    row.each(stride - V, [=] MINIRL_HD(Index j) { l[used + j] = T(0); });
  }
};

/// Draws a token of softmax(logits / T) by Gumbel-max: argmax_j (z_j + G_j), ties to the lower id (R8).
/// The noise of id j at this position is word j mod 4 of block j / 4 under the row's key (smp.1).
/// T = 0 is expressed by `greedy`: the noise is left out.
template <class T>
struct SampleToken {
  using Scalar = T;
  const T* logits;
  const rng::Key* key;              // (R)
  const std::uint32_t* position;    // (R)
  std::int32_t* token;              // (R)
  Index V, stride;
  T inverse_temperature;
  bool greedy;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* l = logits + r * stride;
    const T scale = inverse_temperature;
    const rng::Key k = key[r];
    const std::uint32_t at = position[r];
    Index best = 0;
    if (greedy) {
      best = row.argmax(V, [=] MINIRL_HD(Index j) { return l[j]; });
    } else {
      best = row.argmax_random(V, k, at, [=] MINIRL_HD(Index j, std::uint32_t word) { return l[j] * scale + static_cast<T>(rng::gumbel(word)); });
    }
    std::int32_t* out = token + r;
    row.once([=] MINIRL_HD() { *out = static_cast<std::int32_t>(best); });
  }
};

}  // namespace minirl::kernels
