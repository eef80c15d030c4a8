// minirl tests/kernels/tile_support.h -- inputs and comparisons for the tests of the two tile ops.
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/tensor.h"

namespace minirl::testing {

/// Uniform in [-1, 1), with full mantissas so that every rounding shows. Seeded; no library generator.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x1234567ULL) {}
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1.0;
  }
  Index below(Index n) { return static_cast<Index>((state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL) >> 33) % n; }

 private:
  std::uint64_t state_;
};

template <class T> Tensor noise(Shape shape, std::uint64_t seed, double scale = 1.0) {
  Noise source(seed);
  Tensor t = Tensor::empty(shape, DTypeOf<T>::value);
  for (T& x : t.span<T>()) { x = static_cast<T>(scale * source.next()); }
  return t;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (a.numel() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.bytes())) == 0);
}

/// The instruction sets of this machine and binary.
inline std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa <= best_isa()) { all.push_back(isa); }
  }
  return all;
}

/// Chooses an instruction set until the end of the scope.
class UseIsa {
 public:
  explicit UseIsa(Isa isa) : before_(active_isa()) { set_isa(isa); }
  ~UseIsa() { set_isa(before_); }
  UseIsa(const UseIsa&) = delete;
  UseIsa& operator=(const UseIsa&) = delete;

 private:
  Isa before_;
};

inline Exec with_threads(int threads) {
  Exec exec;
  exec.threads = threads;
  return exec;
}

inline constexpr int kThreadCounts[] = {1, 2, 3, 5};

}  // namespace minirl::testing
