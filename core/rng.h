// minirl core/rng.h -- counter-based randomness: Philox 4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011). No generator state exists: a number is a function of
// (seed, stream, step, prompt, sample, position, index), so batch order, batch size and rank cannot
// change it (R8).
#pragma once
#include <cstdint>

#include "core/fmath.h"

namespace minirl::rng {

/// What a number is used for; each stream is independent of the others.
enum class Stream : std::uint32_t {
  init = 1,         // parameter initialisation
  data = 2,         // choice and content of examples
  supervised = 3,   // worked examples of the pretraining
  rollout = 4,      // sampling of training rollouts
  evaluation = 5,   // sampling of evaluations
  evaluation_data = 6,
  sample = 7,       // `minirl sample`
  bootstrap = 8,    // confidence intervals
  shuffle = 9,
  test = 100,
};

inline namespace MINIRL_ISA {

struct Words4 {
  std::uint32_t w[4];
};
struct Key2 {
  std::uint32_t k[2];
};

MINIRL_HD inline Words4 philox(Words4 c, Key2 key) {
  std::uint32_t k0 = key.k[0];
  std::uint32_t k1 = key.k[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53U) * c.w[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57U) * c.w[2];
    c = Words4{{static_cast<std::uint32_t>(p1 >> 32) ^ c.w[1] ^ k0, static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ c.w[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

/// A key and the high half of a counter: everything about a number except its index. `derive` mixes
/// 64 more bits into the key by one Philox call.
struct Key {
  std::uint32_t k0 = 0, k1 = 0;

  MINIRL_HD static Key of(std::uint64_t seed, Stream stream) {
    const Words4 out = philox(Words4{{static_cast<std::uint32_t>(stream), 0x6d696e69U, 0x726cU, 0U}},
                              Key2{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
    return Key{out.w[0], out.w[1]};
  }
  MINIRL_HD Key derive(std::uint64_t a, std::uint64_t b = 0) const {
    const Words4 out = philox(Words4{{static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32),
                                      static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32)}},
                              Key2{{k0, k1}});
    return Key{out.w[0], out.w[1]};
  }
  /// Four words of block `block` at `position` (e.g. of a token in its sequence).
  MINIRL_HD Words4 words(std::uint32_t block, std::uint32_t position = 0) const {
    return philox(Words4{{block, position, 0U, 0x80000000U}}, Key2{{k0, k1}});
  }
};

/// -log(u) for a uniform u in (0, 1) given by 32 bits: u = (w + 1/2) / 2^32. Near u = 1 the small
/// result keeps its relative precision (rng.1), so the tail of the Gumbel noise is right.
MINIRL_HD inline float neg_log_uniform(std::uint32_t w) {
  // Upper part: 1 - u = (~w + 1/2) / 2^32 is small and known exactly; log(1 + f) with f = -(1 - u).
  const float upper = -fmath::log_reduced(-((static_cast<float>(~w) + 0.5F) * 2.3283064365386963e-10F), 0.0F);
  const float lower = -fmath::log((static_cast<float>(w) + 0.5F) * 2.3283064365386963e-10F);
  return w >= 0xb5000000U ? upper : lower;  // 0.707..: the range of log_reduced
}

/// Gumbel noise -log(-log u): argmax(z + gumbel) is a sample of softmax(z) (rng.2).
MINIRL_HD inline float gumbel(std::uint32_t w) { return -fmath::log(neg_log_uniform(w)); }

/// Uniform double in [0, 1) with 53 bits.
MINIRL_HD inline double uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32 | low) >> 11;
  return static_cast<double>(bits) * 1.1102230246251565e-16;
}

}  // namespace MINIRL_ISA

/// A sequence of numbers under one key, for host code: `Random r(Key::of(seed, stream).derive(index))`.
class Random {
 public:
  explicit Random(Key key) : key_(key) {}
  std::uint32_t bits() {
    if (used_ == 4) {
      words_ = key_.words(block_++);
      used_ = 0;
    }
    return words_.w[used_++];
  }
  double uniform() {
    const std::uint32_t high = bits();
    return rng::uniform(high, bits());
  }
  /// Whole number in [0, n), unbiased (rejection).
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % n;
    std::uint64_t v = 0;
    do {
      const std::uint64_t high = bits();
      v = high << 32 | bits();
    } while (v >= limit);
    return v % n;
  }
  /// Whole number in [low, high], both included.
  std::int64_t range(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// Standard normal by Box and Muller.
  double normal() {
    const double u = 1.0 - uniform();
    const double angle = 6.283185307179586 * uniform();
    return fmath::sqrt(-2.0 * fmath::log(u)) * fmath::cos(angle);
  }

 private:
  Key key_;
  Words4 words_{};
  std::uint32_t block_ = 0;
  int used_ = 4;
};

}  // namespace minirl::rng
