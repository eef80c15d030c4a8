// minirl kernels/philox_lanes.h -- Philox for many counters at once: the words of core/rng.h, lane by lane.
#pragma once
#include "core/rng.h"

namespace minirl::kernels::MINIRL_ISA {

inline constexpr int kPhiloxLanes = 32;  // calls, of four words each

/// out[4 l + i] = word i of block `block` + l at `position`. Rounds outside and lanes inside, so that a compiler
/// turns every line into vectors; integers, so exact in any order.
inline void philox_lanes(const rng::Key& key, std::uint32_t block, std::uint32_t position, std::uint32_t* out) {
  std::uint32_t a[kPhiloxLanes], b[kPhiloxLanes], c[kPhiloxLanes], d[kPhiloxLanes];
  for (int l = 0; l < kPhiloxLanes; ++l) {
    a[l] = block + static_cast<std::uint32_t>(l);
    b[l] = position;
    c[l] = 0U;
    d[l] = 0x80000000U;
  }
  std::uint32_t k0 = key.k0;
  std::uint32_t k1 = key.k1;
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < kPhiloxLanes; ++l) {
      const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53U) * a[l];
      const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57U) * c[l];
      a[l] = static_cast<std::uint32_t>(p1 >> 32) ^ b[l] ^ k0;
      c[l] = static_cast<std::uint32_t>(p0 >> 32) ^ d[l] ^ k1;
      b[l] = static_cast<std::uint32_t>(p1);
      d[l] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (int l = 0; l < kPhiloxLanes; ++l) {
    out[4 * l] = a[l];
    out[4 * l + 1] = b[l];
    out[4 * l + 2] = c[l];
    out[4 * l + 3] = d[l];
  }
}

}  // namespace minirl::kernels::MINIRL_ISA
