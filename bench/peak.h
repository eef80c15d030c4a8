// minirl bench/peak.h -- what the machine can do now: a loop of nothing but fused multiply-adds.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

#include "core/exec.h"
#include "core/parallel.h"

namespace minirl::bench {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Time of one call of `body`: the lower decile of calls that fill about `budget` seconds (at least five), because
/// whatever else runs on the machine only ever adds time.
template <class F> double measure_seconds(double budget, F&& body) {
  body();
  double start = seconds_now();
  body();
  const double once = std::max(seconds_now() - start, 1e-9);
  const int inner = std::max(1, static_cast<int>(20e-6 / once));
  const int samples = std::clamp(static_cast<int>(budget / (once * inner)), 5, 2000);
  std::vector<double> times;
  for (int s = 0; s < samples; ++s) {
    start = seconds_now();
    for (int i = 0; i < inner; ++i) { body(); }
    times.push_back((seconds_now() - start) / inner);
  }
  std::nth_element(times.begin(), times.begin() + samples / 10, times.end());
  return times[static_cast<std::size_t>(samples / 10)];
}

#if defined(__x86_64__)
#define MINIRL_PEAK_BODY(target_name, reg, prefix)                                                                       \
  __attribute__((target(target_name), noinline)) inline double fma_loop_##prefix(long rounds) {                          \
    const double start = seconds_now();                                                                                  \
    for (long i = 0; i < rounds; ++i) {                                                                                  \
      asm volatile(                                                                                                      \
          "vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "0\n vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "1\n"            \
          "vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "2\n vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "3\n"            \
          "vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "4\n vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "5\n"            \
          "vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "6\n vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "7\n"            \
          "vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "8\n vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "9\n"            \
          "vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "10\n vfmadd231ps %%" reg "15,%%" reg "15,%%" reg "11\n"          \
          ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm15"); \
    }                                                                                                                    \
    return seconds_now() - start;                                                                                        \
  }
MINIRL_PEAK_BODY("avx512f", "zmm", avx512)
MINIRL_PEAK_BODY("avx2,fma", "ymm", avx2)
#undef MINIRL_PEAK_BODY
#endif

/// fp32 fma peak of `threads` threads in GFLOP/s with the widest registers of this machine; 0 where it is not known.
inline double fma_peak(int threads) {
#if defined(__x86_64__)
  const Isa isa = best_isa();
  if (isa == Isa::portable) { return 0; }
  constexpr long kRounds = 40000;
  const double flop = 2.0 * 12 * (isa == Isa::avx512 ? 16 : 8) * kRounds;
  double best = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const double start = seconds_now();
    parallel_ranges(threads, threads, 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) { isa == Isa::avx512 ? fma_loop_avx512(kRounds) : fma_loop_avx2(kRounds); }
    });
    best = std::max(best, flop * threads / (seconds_now() - start) / 1e9);
  }
  return best;
#else
  return threads * 0.0;
#endif
}

}  // namespace minirl::bench
