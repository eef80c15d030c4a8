// minirl kernels/rows.h -- a row program is written once and runs on both devices.
// A Row owns ONE logical row and 32 lanes. Every sum goes through Row::sum, whose order is "lane l adds
// items l, l+32, l+64, ...; then a fixed tree 16-8-4-2-1" (row.1). It depends on the length only: a Row
// is never told how many rows, blocks or threads there are (R2).
//
// A program is a struct of pointers with
//     using Scalar = T;                                             the type of its arithmetic
//     template <class Row> MINIRL_HD void operator()(Row row, Index r) const;
// Its kernel file kernels/NAME.cpp says MINIRL_ROW_PROGRAM(Program), kernels/cuda/rows.cu has a line for it; callers
// say for_rows(...).
#pragma once
#include "core/fmath.h"
#include "core/index.h"
#include "core/rng.h"
#include "kernels/order.h"
#if defined(__CUDACC__) || defined(MINIRL_CUDA_EMULATED)
#define MINIRL_DEVICE_CODE 1  // sees no host headers; its rows are in kernels/cuda/rows.cuh
#else
#include <typeinfo>

#include "core/parallel.h"
#include "kernels/backend.h"
#include "kernels/dispatch.h"
#include "kernels/philox_lanes.h"
#endif

namespace minirl::kernels {

#if !defined(MINIRL_DEVICE_CODE)
namespace MINIRL_ISA {

template <class T>
struct CpuRow {
  /// Sum of item(0) ... item(n-1) in the order (row.1).
  template <class F>
  T sum(Index n, F item) const {
    T lane[kLanes];
    for (int l = 0; l < kLanes; ++l) { lane[l] = T(0); }
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) { lane[l] += item(i + l); }
    }
    for (int l = 0; i + l < n; ++l) { lane[l] += item(i + l); }
    for (int h = kLanes / 2; h > 0; h /= 2) {
      for (int l = 0; l < h; ++l) { lane[l] += lane[l + h]; }
    }
    return lane[0];
  }
  /// Largest item; exact, so its order does not matter. NaN items are passed over.
  template <class F>
  T max(Index n, F item) const {
    T lane[kLanes];
    for (int l = 0; l < kLanes; ++l) { lane[l] = -T(__builtin_huge_valf()); }
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const T v = item(i + l);
        lane[l] = lane[l] < v ? v : lane[l];
      }
    }
    for (int l = 0; i + l < n; ++l) {
      const T v = item(i + l);
      lane[l] = lane[l] < v ? v : lane[l];
    }
    for (int h = kLanes / 2; h > 0; h /= 2) {
      for (int l = 0; l < h; ++l) { lane[l] = lane[l] < lane[l + h] ? lane[l + h] : lane[l]; }
    }
    return lane[0];
  }
  /// Index of the largest key(i); ties go to the lower index (R8), so it is exact in any order. n >= 1.
  template <class F>
  Index argmax(Index n, F key) const {
    T top[kLanes];
    std::int32_t at[kLanes];
    for (int l = 0; l < kLanes; ++l) { top[l] = -T(__builtin_huge_valf()), at[l] = l; }
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const T v = key(i + l);
        const bool better = v > top[l];
        top[l] = better ? v : top[l];
        at[l] = better ? static_cast<std::int32_t>(i) + l : at[l];
      }
    }
    for (int l = 0; i + l < n; ++l) {
      const T v = key(i + l);
      if (v > top[l]) { top[l] = v, at[l] = static_cast<std::int32_t>(i) + l; }
    }
    int best = 0;
    for (int l = 1; l < kLanes && l < n; ++l) {
      if (top[l] > top[best] || (top[l] == top[best] && at[l] < at[best])) { best = l; }
    }
    return at[best];
  }
  /// argmax of key(i, u_i), where u_i is word i mod 4 of block i / 4 under (k, position).
  template <class F>
  Index argmax_random(Index n, const rng::Key& k, std::uint32_t position, F key) const {
    constexpr Index kChunk = 4 * kPhiloxLanes;
    static_assert(kChunk % kLanes == 0);
    std::uint32_t words[kChunk];
    T keys[kChunk];
    Index best = 0;
    T top = -T(__builtin_huge_valf());
    for (Index i = 0; i < n; i += kChunk) {
      philox_lanes(k, static_cast<std::uint32_t>(i / 4), position, words);
      const Index left = n - i < kChunk ? n - i : kChunk;
      if (left == kChunk) {
        for (Index l = 0; l < kChunk; ++l) { keys[l] = key(i + l, words[l]); }
      } else {
        for (Index l = 0; l < left; ++l) { keys[l] = key(i + l, words[l]); }
      }
      const T most = max(left, [&](Index l) { return keys[l]; });
      if (!(most > top)) { continue; }  // an equal one further on is not the lower index
      top = most;
      Index l = 0;
      while (keys[l] != most) { ++l; }
      best = i + l;
    }
    return best;
  }
  template <class F> void each(Index n, F body) const {
#if defined(__clang__)
#pragma clang loop vectorize(enable) interleave(enable)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
    for (Index i = 0; i < n; ++i) { body(i); }
  }
  template <class F> void once(F body) const { body(); }
};

}  // namespace MINIRL_ISA

/// The compiled variants of a row program.
template <class Program>
struct RowTable {
  static inline std::array<void (*)(const Program&, Index begin, Index end), kIsaCount> impl{};
};

/// Runs the program over rows [0, rows). `cost` is roughly the number of scalar operations a row
/// takes: rows are only spread over threads where that pays.
template <class Program>
void for_rows(const Exec& exec, Index rows, Index cost, const Program& program) {
  if (exec.device.kind != DeviceKind::cpu) { return backend(exec).rows(typeid(Program).name(), &program, rows); }
  auto* run = RowTable<Program>::impl[static_cast<std::size_t>(active_isa())];
  MINIRL_CHECK(run != nullptr, "row program is not compiled for {}", name(active_isa()));
  constexpr Index kWorthAThread = 16384;
  const Index grain = cost >= kWorthAThread ? 1 : kWorthAThread / (cost > 0 ? cost : 1) + 1;
  parallel_ranges(exec.threads, rows, grain, [&](Index begin, Index end) { run(program, begin, end); });
}

#endif  // MINIRL_DEVICE_CODE

}  // namespace minirl::kernels

/// In kernels/NAME.cpp, at namespace minirl::kernels scope: compiles the program for this variant.
#define MINIRL_ROW_PROGRAM_AS(tag, ...)                                                              \
  namespace MINIRL_ISA {                                                                             \
  namespace {                                                                                        \
  void run_##tag(const __VA_ARGS__& program, Index begin, Index end) {                               \
    const __VA_ARGS__ p = program; /* a local copy: its pointers cannot alias the data */            \
    for (Index r = begin; r < end; ++r) { p(CpuRow<typename __VA_ARGS__::Scalar>{}, r); }            \
  }                                                                                                  \
  [[maybe_unused]] const bool registered_##tag = (RowTable<__VA_ARGS__>::impl[kIsaIndex] = &run_##tag, true); \
  }                                                                                                  \
  }
#define MINIRL_ROW_PROGRAM_EXPAND(tag, ...) MINIRL_ROW_PROGRAM_AS(tag, __VA_ARGS__)
#define MINIRL_ROW_PROGRAM(...) MINIRL_ROW_PROGRAM_EXPAND(__LINE__, __VA_ARGS__)
