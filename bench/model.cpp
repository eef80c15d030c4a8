// minirl bench/model.cpp -- training and sampling tokens/s of a model, with the share of the machine's fma peak
// measured beside it, by the clock and by the processor time of the threads (which others on the machine disturb less).
// usage: bench_model [default|tiny|small] [threads] [seconds a measurement] [train|sample]
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "audit/machine_peak.h"
#include "audit/speed.h"
#include "bench/shapes.h"
#include "core/parallel.h"

using namespace minirl;

namespace {

void row(const std::string& what, double seconds, const Exec& exec, double tokens, double flop, const std::function<void()>& body) {
  double used = 0, calls = 0;
  const double t = audit::measure_seconds(seconds, [&] {
    const double before = audit::processor_seconds();
    body();
    used += audit::processor_seconds() - before, calls += 1;
  });
  const double peak = audit::fma_peak(exec.threads), gflops = flop / t / 1e9;
  fmt::print("  {:36} {:9.0f} tokens/s  {:6.1f} GFLOP/s  {:3.0f}% of peak {:9.0f} tokens a processor second\n", what, tokens / t, gflops,
             100 * gflops / peak, tokens * calls / used);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "default", what = argc > 4 ? argv[4] : "";
  const Exec exec{.threads = argc > 2 ? std::atoi(argv[2]) : default_threads()};
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1.0;
  const auto model = make_decoder(bench::shape(name), DType::f32, 1);
  fmt::print("{} model, {} threads, {}\n", name, exec.threads, minirl::name(active_isa()));
  if (what != "sample") {
    for (const auto& [sequences, length] : {std::pair<Index, Index>{16, 128}, {64, 48}}) {
      audit::TrainSpeed speed(*model, sequences, length);
      row(fmt::format("train  {:4} x {:4} tokens", sequences, length), seconds, exec, speed.tokens(), speed.flop(), [&] { speed.step(exec); });
    }
  }
  if (what != "train") {
    for (const Index batch : {1, 16, 64, 256}) {
      audit::SampleSpeed speed(*model, batch, 16, 112);
      row(fmt::format("sample batch {:3}, 112 new tokens", batch), seconds, exec, speed.tokens(), speed.flop(), [&] { speed.run(exec); });
    }
  }
} catch (const Error& e) {
  fmt::print(stderr, "error: {}\n", e.what());
  return static_cast<int>(e.code());
}
