// minirl bench/matmul.cpp -- the three products against the machine's measured fp32 fma peak, in one run.
// usage: bench_matmul [threads] [seconds a measurement]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "audit/machine_peak.h"
#include "kernels/matmul.h"

using namespace minirl;
using namespace minirl::kernels;

namespace {

Tensor noise(Shape shape, unsigned seed) {
  Tensor t = Tensor::empty(shape, DType::f32);
  std::uint32_t s = seed * 2654435761U + 1U;
  for (float& x : t.span<float>()) {
    s = s * 1664525U + 1013904223U;
    x = static_cast<float>(s >> 8) * 0x1p-23F - 1.0F;
  }
  return t;
}

void row(const Exec& exec, Index m, Index n, Index k, double seconds) {
  const Tensor x = noise({m, k}, 1), w = noise({n, k}, 2), dy = noise({m, n}, 3);
  Tensor y = Tensor::zeros({m, n}, DType::f32), dx = Tensor::zeros({m, k}, DType::f32), dw = Tensor::zeros({n, k}, DType::f32);
  const PackedMatrix forward = PackedMatrix::forward(exec, w), input_grad = PackedMatrix::input_grad(exec, w);
  const double flop = 2.0 * static_cast<double>(m * n) * static_cast<double>(k);
  const double peak = audit::fma_peak(exec.threads);
  const auto share = [&](auto&& body) { return flop / audit::measure_seconds(seconds, body) / 1e9; };
  const double f = share([&] { linear_forward(exec, x, forward, y); });
  const double d = share([&] { linear_input_grad(exec, dy, input_grad, dx); });
  const double g = share([&] { linear_weight_grad(exec, dy, x, dw); });
  const double pack = audit::measure_seconds(seconds, [&] { PackedMatrix::forward(exec, w); });
  const double again = audit::fma_peak(exec.threads), best = std::max(peak, again);
  fmt::print("{:6} {:6} {:5} | {:7.1f} {:4.0f}% | {:7.1f} {:4.0f}% | {:7.1f} {:4.0f}% | {:7.1f} | {:8.1f}\n", m, n, k, f,
             100 * f / best, d, 100 * d / best, g, 100 * g / best, best, pack * 1e6);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Exec exec;
  exec.threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.15;
  fmt::print("{} threads, {}; GFLOP/s and share of the fma peak measured beside each line; packing in us\n", exec.threads, name(active_isa()));
  fmt::print("     M      N     K |   forward     |      dx       |      dW       |   peak  |  pack W\n");
  for (const auto& [n, k] : {std::pair<Index, Index>{1024, 1024}, {3072, 1024}, {1024, 3072}, {512, 512}}) {
    for (const Index m : {512, 2048}) { row(exec, m, n, k, seconds); }
  }
  for (const Index n : {64, 128, 256, 384}) {
    for (const Index m : {512, 4096}) { row(exec, m, n, 128, seconds); }
  }
  row(exec, 2048, 128, 384, seconds);
  row(exec, 2048, 512, 128, seconds);
  for (const Index m : {1, 4, 16, 64}) { row(exec, m, 1024, 1024, seconds); }
  for (const Index m : {1, 4, 16, 64}) { row(exec, m, 384, 128, seconds); }
  return 0;
}
