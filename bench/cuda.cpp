// minirl bench/cuda.cpp -- what a CUDA device does with minirl's kernels: copy bandwidth, products, training and sampling, each
// beside the limit that it is to be held against; or the proof that its bits are those of the CPU.
// usage: bench_cuda [parity] [tiny|small|qwen3-0.6b] [seconds a measurement]
// Where no device can be used it says why and measures nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/stopwatch.h"
#include "kernels/backend.h"
#include "kernels/cuda_plugin.h"
#include "model/sampler.h"
#include "rl/device.h"
#include "rl/micro_batch.h"
#include "rl/optimizer.h"

using namespace minirl;

namespace {

ModelConfig shape(const std::string& name) {
  ModelConfig c;
  c.max_positions = 4096;
  if (name == "tiny") {
    c.vocab_size = 61, c.hidden_size = 16, c.num_layers = 1, c.num_heads = 2, c.num_kv_heads = 1, c.head_dim = 8, c.ffn_size = 24;
  } else if (name == "small") {
    c.vocab_size = 4096, c.hidden_size = 512, c.num_layers = 8, c.num_heads = 8, c.num_kv_heads = 4, c.head_dim = 64, c.ffn_size = 1536;
  } else if (name == "qwen3-0.6b") {
    c.vocab_size = 151936, c.hidden_size = 1024, c.num_layers = 28, c.num_heads = 16, c.num_kv_heads = 8, c.head_dim = 128, c.ffn_size = 3072;
  } else {
    fail(Exit::usage, fmt::format("unknown model '{}'", name), "use tiny, small or qwen3-0.6b");
  }
  return c;
}

/// fp32 fma peak and memory bandwidth of devices, from their data sheets; 0: not known here.
struct Limits {
  double tflops = 0, gigabytes = 0;
};
Limits limits_of(const std::string& device) {
  if (device.find("H200") != std::string::npos) { return {67, 4800}; }
  if (device.find("H100") != std::string::npos) { return {67, 3350}; }
  if (device.find("A100") != std::string::npos) { return {19.5, 2039}; }
  return {};
}
std::string share(double value, double limit) { return limit > 0 ? fmt::format("{:5.1f}% of {}", 100 * value / limit, limit) : "limit unknown"; }

/// Seconds of one call: as many calls as fill the budget are given to the device, then it is waited for.
template <class F>
double device_seconds(kernels::Backend& device, double budget, F&& body) {
  const auto time = [&](int calls) {
    device.synchronize();
    const Stopwatch watch;
    for (int i = 0; i < calls; ++i) { body(); }
    device.synchronize();
    return watch.seconds() / calls;
  };
  time(1);  // the first call loads code
  const double once = time(1);
  return time(std::clamp(static_cast<int>(budget / once), 1, 10000));
}

std::vector<Token> tokens(Index n, std::uint64_t seed, Index vocabulary) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  std::vector<Token> out;
  for (Index i = 0; i < n; ++i) { out.push_back(static_cast<Token>(random.below(static_cast<std::uint64_t>(vocabulary)))); }
  return out;
}

Tensor noise(Shape shape, std::uint64_t seed) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  Tensor t = Tensor::empty(shape, DType::f32);
  for (float& x : t.span<float>()) { x = static_cast<float>(random.uniform() - 0.5); }
  return t;
}

double forward_flop(const ModelConfig& c, double context) {
  const double layer = static_cast<double>(2 * c.hidden_size * (c.q_size() + c.kv_size()) + 3 * c.hidden_size * c.ffn_size);
  return 2 * (static_cast<double>(c.num_layers) * layer + static_cast<double>(c.hidden_size * c.vocab_size)) + 4 * static_cast<double>(c.num_layers * c.q_size()) * context;
}

struct Work {
  std::vector<std::vector<Token>> text;
  std::vector<rl::ScoredSequence> batch;
  Work(const ModelConfig& c, Index sequences, Index length) {
    for (Index i = 0; i < sequences; ++i) { text.push_back(tokens(length + 1, static_cast<std::uint64_t>(i), c.vocab_size)); }
    for (const auto& t : text) { batch.push_back({std::span(t).first(1), std::span(t).subspan(1)}); }
  }
};

void update(Decoder& model, rl::Optimizer& optimizer, const Work& work, const Exec& exec) {
  rl::accumulate_gradients(model, exec, work.batch, {1.0, 16384, false, 0}, [](std::size_t, const rl::SequenceScores&, const rl::SequenceSeeds& seeds) {
    const auto d = seeds.dlogp;
    for (float& x : d) { x = -1e-4F; }
  });
  optimizer.step(1e-4, exec);
}

std::vector<std::vector<Completion>> draw(Decoder& model, Index sequences, Index length, const Exec& exec) {
  std::vector<SampleRequest> requests(1);
  requests[0].prompt = {1, 2, 3};
  for (Index i = 0; i < sequences; ++i) { requests[0].keys.push_back(rng::Key::of(static_cast<std::uint64_t>(i), rng::Stream::test)); }
  SamplerOptions options;
  options.max_new_tokens = length;
  options.max_batch = sequences;
  return sample(model, requests, options, exec);
}

void measure(const Exec& exec, const std::string& name, double seconds, const Limits& limits) {
  kernels::Backend& device = kernels::backend(exec);
  const bool tiny = name == "tiny";
  const Index n = tiny ? 1 << 12 : Index{1} << 28;
  const Tensor x = Tensor::zeros({n}, DType::f32, exec);
  Tensor y = Tensor::zeros({n}, DType::f32, exec);
  const double copy = device_seconds(device, seconds, [&] { y.copy_from(x); });
  fmt::print("copy on the device   {:9.1f} GB/s  {}\n", 8e-9 * static_cast<double>(n) / copy, share(8e-9 * static_cast<double>(n) / copy, limits.gigabytes));
  for (const Index m : tiny ? std::vector<Index>{1, 8} : std::vector<Index>{1, 16, 64, 2048, 16384}) {
    const Index k = tiny ? 32 : 4096;
    const Tensor a = noise({m, k}, 1).near(exec), w = noise({k, k}, 2).near(exec);
    Tensor c = Tensor::zeros({m, k}, DType::f32, exec), dw = Tensor::zeros({k, k}, DType::f32, exec), da = Tensor::zeros({m, k}, DType::f32, exec);
    const double tflop = 2e-12 * static_cast<double>(m * k * k);
    const auto line = [&](const char* what, double t) { fmt::print("{} {:6} x {}  {:9.2f} TFLOP/s  {}\n", what, m, k, tflop / t, share(tflop / t, limits.tflops)); };
    line("y = x W^T   ", device_seconds(device, seconds, [&] { device.linear_forward(a.data<float>(), w.data<float>(), c.data<float>(), m, k, k); }));
    line("dx += dy W  ", device_seconds(device, seconds, [&] { device.linear_input_grad(a.data<float>(), w.data<float>(), da.data<float>(), m, k, k); }));
    line("dW += dy^T x", device_seconds(device, seconds, [&] { device.linear_weight_grad(a.data<float>(), a.data<float>(), dw.data<float>(), m, k, k); }));
  }
  const ModelConfig c = shape(name);
  const Index sequences = tiny ? 2 : 16, length = tiny ? 8 : 512;
  const auto model = make_decoder(c, DType::f32, 1);
  model->params().move_to(exec);
  rl::Optimizer optimizer(model->params(), {});
  const Work work(c, sequences, length);
  const double train = device_seconds(device, seconds, [&] { update(*model, optimizer, work, exec); });
  const double trained = static_cast<double>(sequences * length), tflops = 3e-12 * forward_flop(c, static_cast<double>(length) / 2) * trained / train;
  fmt::print("training {} {} x {}  {:9.0f} tokens/s  {:.2f} TFLOP/s, MFU (fp32) {}\n", name, sequences, length, trained / train, tflops, share(tflops, limits.tflops));
  for (const Index batch : tiny ? std::vector<Index>{2} : std::vector<Index>{1, 16, 256}) {
    const Index new_tokens = tiny ? 4 : 128;
    const double t = device_seconds(device, seconds, [&] { draw(*model, batch, new_tokens, exec); });
    fmt::print("sampling {} batch {:4}  {:9.0f} tokens/s\n", name, batch, static_cast<double>(batch * new_tokens) / t);
  }
}

bool parity(const Exec& exec, const std::string& name) {
  bool all = true;
  const auto say = [&](const char* claim, bool holds) {
    fmt::print("{}  {}\n", holds ? "same bits" : "DIFFERENT", claim);
    all = all && holds;
  };
  const auto same = [](const Tensor& a, const Tensor& b) {
    const Tensor x = a.on_host(), y = b.on_host();
    return std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.bytes())) == 0;
  };
  kernels::Backend& device = kernels::backend(exec);
  const Tensor x = noise({256, 600}, 3).near(exec), w = noise({300, 600}, 4).near(exec);
  Tensor many = Tensor::zeros({256, 300}, DType::f32, exec), one = Tensor::zeros({1, 300}, DType::f32, exec);
  device.linear_forward(x.data<float>(), w.data<float>(), many.data<float>(), 256, 300, 600);
  device.linear_forward(x.slice(200, 201).data<float>(), w.data<float>(), one.data<float>(), 1, 300, 600);
  say("a row of a product alone and among 256", same(many.slice(200, 201), one));
  const ModelConfig c = shape(name);
  const Exec cpu{.threads = exec.threads};
  struct Outcome {
    std::vector<std::vector<Completion>> drawn;
    std::string weights;
  };
  const auto outcome = [&](const Exec& where) {
    const auto model = make_decoder(c, DType::f32, 1);
    model->params().move_to(where);
    rl::Optimizer optimizer(model->params(), {});
    update(*model, optimizer, Work(c, 3, 40), where);
    Outcome o{draw(*model, 4, 40, where), {}};
    o.weights = model->params().hash();
    return o;
  };
  const Outcome here = outcome(cpu), there = outcome(exec);
  say("weights after one update, CPU and device", here.weights == there.weights);
  bool drawn = true;
  for (std::size_t i = 0; i < here.drawn[0].size(); ++i) { drawn = drawn && here.drawn[0][i].ids == there.drawn[0][i].ids && here.drawn[0][i].logp == there.drawn[0][i].logp; }
  say("sampled tokens and their log-probabilities, CPU and device", drawn);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    // The plugin lies beside minirl, one folder above this program.
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    setenv("MINIRL_CUDA_PLUGIN", (self.parent_path().parent_path() / "libminirl_cuda.so").c_str(), 0);
    const bool prove = !words.empty() && words[0] == "parity";
    if (prove) { words.erase(words.begin()); }
    const std::string name = words.empty() ? (prove ? "tiny" : "small") : words[0];
    shape(name);
    const double seconds = words.size() > 1 ? std::atof(words[1].c_str()) : 1;
    rl::Config config;
    const rl::DeviceChoice choice = rl::choose_device(config);
    fmt::print("{}\n", choice.text);
    if (!choice.cuda) {
      fmt::print("[SKIP] nothing was measured\n");
      return 0;
    }
    const Exec exec = rl::make_device_exec(config);
    if (prove) { return parity(exec, name) ? 0 : 3; }
    measure(exec, name, seconds, limits_of(kernels::cuda_status().report.device));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_cuda: {}\n", error.what());
    return 2;
  }
}
