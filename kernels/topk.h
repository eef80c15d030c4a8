// minirl kernels/topk.h -- the K most likely ids of a row of logits and the log-probabilities of
// given ids; docs/math/logprob.md. What Top-K divergences are made of.
// Shapes: logits (R, stride) with V ids that exist; ids and logp (R, K) row-major; lse (R).
#pragma once
#include "kernels/rows.h"

namespace minirl::kernels {

/// ids = the K largest logits in descending order; equal logits in ascending order of id (R8). (topk.1)
template <class T>
struct TopK {
  using Scalar = T;
  const T* logits;
  std::int32_t* ids;
  Index K, V, stride;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* l = logits + r * stride;
    std::int32_t* out = ids + r * K;
    T last = T(0);
    Index last_id = -1;
    for (Index k = 0; k < K; ++k) {
      const bool first = k == 0;
      const T value = last;
      const Index id = last_id;
      // What is already taken counts as the smallest value there is.
      const Index best = row.argmax(V, [=] MINIRL_HD(Index j) {
        const T x = l[j];
        const bool free = first || x < value || (x == value && j > id);
        return free ? x : -T(__builtin_huge_valf());
      });
      last = l[best];
      last_id = best;
      row.once([=] MINIRL_HD() { out[k] = static_cast<std::int32_t>(best); });
    }
  }
};

/// logp_k = logit[id_k] / T - lse: the same two operations as (lp.3).                         (topk.2)
template <class T>
struct GatherLogProb {
  using Scalar = T;
  const T* logits;
  const std::int32_t* ids;
  const T* lse;
  T* logp;
  Index K, stride;
  T inverse_temperature;
  template <class Row> MINIRL_HD void operator()(Row row, Index r) const {
    const T* l = logits + r * stride;
    const std::int32_t* id = ids + r * K;
    const T scale = inverse_temperature;
    const T log_sum = lse[r];
    T* out = logp + r * K;
    row.each(K, [=] MINIRL_HD(Index k) { out[k] = l[id[k]] * scale - log_sum; });
  }
};

}  // namespace minirl::kernels
