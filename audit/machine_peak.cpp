#include "audit/machine_peak.h"

#include <algorithm>
#include <ctime>
#include <vector>

#include "core/parallel.h"
#include "core/stopwatch.h"
#include "core/tensor.h"
#include "kernels/peak.h"

namespace minirl::audit {
double fma_peak(int threads) {
  constexpr Index kRounds = 40000;
  double best = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const Stopwatch watch;
    Index lanes = 0;
    // As many equal items as threads: the slowest thread decides, as in a product.
    parallel_items(threads, threads, [&](Index item, Index) {
      alignas(64) float chains[kernels::kPeakChains * 16] = {1e-3F, 1e-3F};
      Index width = 0;
      kernels::fma_loop_f32(kRounds, chains, &width);
      if (item == 0) {
        lanes = width;
      }
    });
    const double flop =
        2.0 * static_cast<double>(kernels::kPeakChains * lanes * kRounds) * threads;
    best = std::max(best, flop / watch.seconds() / 1e9);
  }
  return best;
}

double read_bandwidth(int threads) {
  constexpr Index kFloats = Index{64} << 20;  // 256 MiB: more than caches hold
  constexpr Index kPiece = Index{128} << 10;
  Tensor buffer = Tensor::empty({kFloats}, DType::f32);
  float* const data = buffer.data<float>();
  std::fill(data, data + kFloats, 1.0F);
  std::vector<float> sums(static_cast<std::size_t>(kFloats / kPiece * 16));
  double best = 0;
  for (int repeat = 0; repeat < 12; ++repeat) {
    const Stopwatch watch;
    const double used = processor_seconds();
    parallel_items(threads, kFloats / kPiece, [&](Index piece, Index) {
      kernels::read_loop_f32(data + piece * kPiece, kPiece, sums.data() + piece * 16);
    });
    // One thread that was not running was not reading.
    const double seconds = threads == 1 ? processor_seconds() - used : watch.seconds();
    double total = 0;
    for (const float s : sums) {
      total += static_cast<double>(s);
    }
    MINIRL_CHECK(total == static_cast<double>(kFloats), "{} ones add up to {}", kFloats, total);
    best = std::max(best, static_cast<double>(kFloats) * 4 / seconds / 1e9);
  }
  return best;
}

double measure_seconds(double budget, const std::function<void()>& body) {
  body();
  Stopwatch first;
  body();
  const double once = std::max(first.seconds(), 1e-9);
  const int inner = std::max(1, static_cast<int>(20e-6 / once));
  const int samples = std::clamp(static_cast<int>(budget / (once * inner)), 5, 2000);
  std::vector<double> times;
  for (int s = 0; s < samples; ++s) {
    const Stopwatch watch;
    for (int i = 0; i < inner; ++i) {
      body();
    }
    times.push_back(watch.seconds() / inner);
  }
  std::nth_element(times.begin(), times.begin() + samples / 10, times.end());
  return times[static_cast<std::size_t>(samples / 10)];
}

double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace minirl::audit
