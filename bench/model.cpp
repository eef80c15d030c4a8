// minirl bench/model.cpp -- training and sampling tokens/s of a model, with the share of the machine's fma peak
// measured beside it. Useful FLOPs only: 2 a weight a token forward, 4 backward, plus attention.
// usage: bench_model [tiny|small] [threads] [seconds a measurement]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "bench/peak.h"
#include "model/sampler.h"
#include "rl/micro_batch.h"
#include "rl/optimizer.h"

using namespace minirl;

namespace {

ModelConfig shape(const std::string& name) {
  ModelConfig c;
  c.vocab_size = 512;
  if (name == "small") {
    c.vocab_size = 4096, c.hidden_size = 512, c.num_layers = 8, c.num_heads = 8, c.num_kv_heads = 4, c.head_dim = 64, c.ffn_size = 1536;
  } else if (name == "default") {
    c.vocab_size = 261;
  } else if (name != "tiny") {
    fail(Exit::usage, fmt::format("unknown model '{}'", name), "use default, tiny or small");
  }
  return c;
}

double forward_flop(const ModelConfig& c, double context) {
  const double layer = static_cast<double>(2 * c.hidden_size * (c.q_size() + c.kv_size()) + 3 * c.hidden_size * c.ffn_size);
  return 2 * (static_cast<double>(c.num_layers) * layer + static_cast<double>(c.hidden_size * c.vocab_size)) +
         4 * static_cast<double>(c.num_layers * c.q_size()) * context;
}

std::vector<Token> tokens(Index n, std::uint64_t seed, Index vocabulary) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  std::vector<Token> out;
  for (Index i = 0; i < n; ++i) { out.push_back(static_cast<Token>(random.below(static_cast<std::uint64_t>(vocabulary)))); }
  return out;
}

void train(const ModelConfig& c, const Exec& exec, Index sequences, Index length, double seconds) {
  const auto model = make_decoder(c, DType::f32, 1);
  rl::Optimizer optimizer(model->params(), {});
  std::vector<std::vector<Token>> text;
  std::vector<rl::ScoredSequence> batch;
  for (Index i = 0; i < sequences; ++i) { text.push_back(tokens(length + 1, static_cast<std::uint64_t>(i), c.vocab_size)); }
  for (const auto& t : text) { batch.push_back({std::span(t).first(1), std::span(t).subspan(1)}); }
  const double t = bench::measure_seconds(seconds, [&] {
    rl::accumulate_gradients(*model, exec, batch, {1.0, 4096, false, 0}, [](std::size_t, const rl::SequenceScores&, const rl::SequenceSeeds& seeds) {
      const auto d = seeds.dlogp;
      for (float& x : d) { x = -1e-4F; }
    });
    optimizer.step(1e-6, exec);
  });
  const double n = static_cast<double>(sequences * length), peak = bench::fma_peak(exec.threads);
  const double gflops = 3 * forward_flop(c, static_cast<double>(length) / 2) * n / t / 1e9;
  fmt::print("  train  {:4} x {:4} tokens            {:9.0f} tokens/s  {:6.1f} GFLOP/s  {:3.0f}% of peak\n", sequences, length, n / t, gflops, 100 * gflops / peak);
}

void generate(const ModelConfig& c, const Exec& exec, Index batch, Index length, double seconds) {
  const auto model = make_decoder(c, DType::f32, 1);
  SampleRequest request{tokens(16, 3, c.vocab_size), {}};
  for (Index i = 0; i < 2 * batch; ++i) { request.keys.push_back(rng::Key::of(1, rng::Stream::test).derive(static_cast<std::uint64_t>(i))); }
  SamplerOptions o;
  o.max_new_tokens = length;
  o.max_batch = batch;
  const double t = bench::measure_seconds(seconds, [&] { sample(*model, std::span(&request, 1), o, exec); });
  const double n = static_cast<double>(2 * batch * length), peak = bench::fma_peak(exec.threads);
  const double gflops = forward_flop(c, static_cast<double>(16 + length / 2)) * n / t / 1e9;
  fmt::print("  sample batch {:3} to {:4} new tokens     {:9.0f} tokens/s  {:6.1f} GFLOP/s  {:3.0f}% of peak\n", batch, length, n / t, gflops, 100 * gflops / peak);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "default";
  const Exec exec{.threads = argc > 2 ? std::atoi(argv[2]) : default_threads()};
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1.0;
  const ModelConfig c = shape(name);
  fmt::print("{} model, {} threads, {}\n", name, exec.threads, minirl::name(active_isa()));
  train(c, exec, 16, 128, seconds);
  train(c, exec, 64, 48, seconds);
  for (const Index batch : {1, 16, 64, 256}) { generate(c, exec, batch, 112, seconds); }
} catch (const Error& e) {
  fmt::print(stderr, "error: {}\n", e.what());
  return static_cast<int>(e.code());
}
