// minirl bench/attention.cpp -- attention forward, backward and one decoding step.
// usage: bench_attention [threads] [seconds a measurement]
// flop: 4 d per (query, present key) forward and in decoding, 10 d backward (five products).
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "audit/machine_peak.h"
#include "kernels/attention.h"

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

void row(const Exec& exec, AttentionDims dims, Index sequences, Index length, double seconds) {
  const Index n = sequences * length, tiles = (length + kKeyTile - 1) / kKeyTile, d = dims.head_dim;
  std::vector<int> ids(static_cast<std::size_t>(sequences * tiles));
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<QueryRun> runs, steps;
  for (Index s = 0; s < sequences; ++s) {
    runs.push_back({s * length, length, 0, ids.data() + s * tiles});
    steps.push_back({s, 1, length - 1, ids.data() + s * tiles});
  }
  const Tensor q = noise({n, dims.q_heads, d}, 1), k = noise({n, dims.kv_heads, d}, 2), v = noise({n, dims.kv_heads, d}, 3);
  const Tensor d_o = noise({n, dims.q_heads, d}, 4), q1 = noise({sequences, dims.q_heads, d}, 5);
  Tensor o = Tensor::zeros(q.shape(), DType::f32), lse = Tensor::zeros({n, dims.q_heads}, DType::f32), o1 = q1.clone();
  Tensor dq = Tensor::zeros(q.shape(), DType::f32), dk = Tensor::zeros(k.shape(), DType::f32), dv = dk.clone();
  KvPool pool{Tensor::zeros({sequences * tiles, dims.kv_heads, d, kKeyTile}, DType::f32),
              Tensor::zeros({sequences * tiles, dims.kv_heads, kKeyTile, d}, DType::f32)};
  const double scale = 1.0 / std::sqrt(static_cast<double>(d));
  const double pairs = static_cast<double>(sequences * dims.q_heads * length) * (static_cast<double>(length) + 1) / 2;
  const double peak = audit::fma_peak(exec.threads);
  const double store = audit::measure_seconds(seconds, [&] { kv_store(exec, dims, k, v, runs, pool); });
  const double forward = audit::measure_seconds(seconds, [&] { attention_forward(exec, dims, scale, q, runs, pool, o, &lse); });
  const double backward =
      audit::measure_seconds(seconds, [&] { attention_backward(exec, dims, scale, q, k, v, runs, pool, o, lse, d_o, dq, dk, dv); });
  const double step = audit::measure_seconds(seconds, [&] { attention_forward(exec, dims, scale, q1, steps, pool, o1, nullptr); });
  const double f = 4 * static_cast<double>(d) * pairs / forward / 1e9, b = 10 * static_cast<double>(d) * pairs / backward / 1e9;
  const double s = 4 * static_cast<double>(d * sequences * dims.q_heads * length) / step / 1e9;
  fmt::print("{:3} x {:5} {:3}/{:<2} d={:3} | {:7.1f} {:4.0f}% | {:7.1f} {:4.0f}% | {:7.1f} {:8.1f} | {:8.1f}\n", sequences, length,
             dims.q_heads, dims.kv_heads, d, f, 100 * f / peak, b, 100 * b / peak, s, step * 1e6, store * 1e6);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Exec exec;
  exec.threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.15;
  fmt::print("{} threads, {}; GFLOP/s of present pairs and share of the fma peak; a decoding step of all sequences\n", exec.threads,
             name(active_isa()));
  fmt::print("seqs x len  heads  width |    forward     |    backward    |  step GF       us | store us\n");
  row(exec, {4, 2, 32}, 64, 40, seconds);
  row(exec, {4, 2, 32}, 32, 128, seconds);
  row(exec, {8, 4, 64}, 16, 128, seconds);
  row(exec, {8, 4, 64}, 8, 512, seconds);
  row(exec, {16, 8, 128}, 2, 512, seconds);
  row(exec, {16, 8, 128}, 1, 2000, seconds);
  return 0;
}
