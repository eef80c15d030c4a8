// minirl bench/memory.cpp -- ops that memory limits, on tensors that no cache holds, against the measured read bandwidth.
// Bytes are those that must move: what is read and what is written, each once. One thread is measured by its processor
// time, which other work on the machine disturbs less.
// usage: bench_memory [threads] [seconds a measurement]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "audit/machine_peak.h"
#include "kernels/adamw.h"
#include "kernels/matmul.h"
#include "kernels/rmsnorm.h"
#include "kernels/swiglu.h"

using namespace minirl;
using namespace minirl::kernels;

namespace {

Tensor noise(Shape shape) {
  Tensor t = Tensor::empty(shape, DType::f32);
  std::uint32_t s = 1U;
  for (float& x : t.span<float>()) {
    s = s * 1664525U + 1013904223U;
    x = static_cast<float>(s >> 8) * 0x1p-23F - 1.0F;
  }
  return t;
}

struct Rows {
  int threads;
  double bandwidth, seconds;

  void run(const std::string& what, double bytes, const std::function<void()>& body) const {
    double used = 1e9;  // processor seconds of a call
    const double wall = audit::measure_seconds(seconds, [&] {
      const double before = audit::processor_seconds();
      body();
      used = std::min(used, audit::processor_seconds() - before);
    });
    const double rate = bytes / (threads == 1 ? used : wall) / 1e9;
    fmt::print("{:36} {:7.1f} GB/s {:5.0f}%\n", what, rate, 100 * rate / bandwidth);
    std::fflush(stdout);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Exec exec{.threads = argc > 1 ? std::atoi(argv[1]) : 1};
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.5;
  const double bandwidth = audit::read_bandwidth(exec.threads);
  const Rows rows{exec.threads, bandwidth, seconds};
  fmt::print("{} threads, {}; reads of memory {:.1f} GB/s\n", exec.threads, name(active_isa()), bandwidth);
  constexpr Index R = 16384, D = 1024, n = R * D;  // 64 MiB a tensor
  const double one = 4.0 * n;
  Tensor a = noise({R, D}), b = noise({R, D}), c = noise({R, D}), d = noise({R, D}), e = Tensor::zeros({R, D}, DType::f32), w = noise({D}), s = Tensor::empty({R}, DType::f32);
  const AdamWScalars scalars{1e-6F, 0.9F, 0.95F, 1e-8F, 0.0F, 1.0F, 1.0F, 1.0F};
  d.zero();
  rows.run("AdamW (4 read, 3 written)", 7 * one, [&] {
    for_rows(exec, blocks_of(n), 16 * kBlock, AdamW{a.data<float>(), b.data<float>(), d.data<float>(), c.data<float>(), n, scalars});
  });
  rows.run("add (2 read, 1 written)", 3 * one,
      [&] { for_rows(exec, blocks_of(n), kBlock, Add<float>{a.data<float>(), b.data<float>(), c.data<float>(), n}); });
  rows.run("RMSNorm forward (1 read, 1 written)", 2 * one,
      [&] { for_rows(exec, R, 4 * D, RmsNormForward<float>{a.data<float>(), w.data<float>(), b.data<float>(), s.data<float>(), D, 1e-6F}); });
  rows.run("RMSNorm backward (3 read, 1 written)", 4 * one, [&] {
    for_rows(exec, R, 8 * D, RmsNormBackward<float>{a.data<float>(), w.data<float>(), s.data<float>(), b.data<float>(), c.data<float>(), D});
  });
  rows.run("SwiGLU forward (2 read, 1 written)", 3 * one,
      [&] { for_rows(exec, R, 8 * D, SwigluForward<float>{a.data<float>(), b.data<float>(), c.data<float>(), D}); });
  rows.run("SwiGLU backward (5 read, 2 written)", 7 * one, [&] {
    for_rows(exec, R, 12 * D, SwigluBackward<float>{a.data<float>(), b.data<float>(), c.data<float>(), d.data<float>(), e.data<float>(), D});
  });
  const Index N = 65536;
  const Tensor weight = noise({N, D});
  const PackedMatrix packed = PackedMatrix::forward(exec, weight);
  for (const Index m : {1, 2, 4}) {
    const Tensor x = noise({m, D});
    Tensor y = Tensor::empty({m, N}, DType::f32);
    rows.run(fmt::format("product of {} x 1024 and 65536 rows", m), 4.0 * static_cast<double>(N) * D, [&] { linear_forward(exec, x, packed, y); });
  }
}
