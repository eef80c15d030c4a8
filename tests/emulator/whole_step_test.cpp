// A tiny model's whole RL steps through the backend: sampling with its cache, rewards on the host, loss, backward, AdamW. Everything
// above kernels/ is the program itself, which is told where to compute and nothing else.
#include <doctest/doctest.h>

#include "model/sampler.h"
#include "rl/algorithm_registry.h"
#include "rl/policy_update.h"
#include "tests/emulator/machine.h"

using namespace minirl;

namespace {

constexpr Index kVocabulary = 37;
constexpr int kSteps = 2;

ModelConfig tiny(bool tied) {
  ModelConfig c;
  c.vocab_size = kVocabulary;
  c.hidden_size = 16;
  c.num_layers = 2;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  c.head_dim = 8;
  c.ffn_size = 24;
  c.rope_theta = 1e4;
  c.tie_word_embeddings = tied;
  c.max_positions = 128;
  c.initializer_range = 0.3;
  return c;
}

/// What a run leaves behind, to the bit.
struct Trace {
  std::vector<Token> tokens;
  std::vector<float> logp;
  std::vector<double> losses, norms;
  std::string weights;
  bool operator==(const Trace&) const = default;
};

Trace run(const Exec& exec, bool tied) {
  Trace trace;
  const auto model = make_decoder(tiny(tied), DType::f32, 5);
  model->params().move_to(exec);
  rl::Optimizer optimizer(model->params(), {});
  const auto algorithm = rl::make_algorithm("pg_is", {});
  for (int step = 0; step < kSteps; ++step) {
    std::vector<SampleRequest> requests = {{{1, 2, 3}, {}}, {{}, {}}};
    for (Token t = 0; t < 35; ++t) { requests[1].prompt.push_back(t); }  // longer than a key tile
    for (std::size_t r = 0; r < requests.size(); ++r) {
      for (std::uint64_t s = 0; s < 3; ++s) { requests[r].keys.push_back(rng::Key::of(7, rng::Stream::test).derive(static_cast<std::uint64_t>(step), 10 * r + s)); }
    }
    SamplerOptions sampling;
    sampling.temperature = 0.9;
    sampling.max_new_tokens = 6;
    sampling.max_batch = 4;
    sampling.stop_ids = {0};
    const auto completions = sample(*model, requests, sampling, exec);

    std::vector<rl::Group> groups;
    for (std::size_t r = 0; r < requests.size(); ++r) {
      rl::Group group;
      group.prompt = requests[r].prompt;
      double mean = 0;
      for (const Completion& c : completions[r]) {
        rl::Rollout rollout;
        rollout.ids = c.ids;
        rollout.logp = c.logp;
        rollout.stopped = c.stopped;
        for (const Token t : c.ids) { rollout.reward += t % 2 == 0 ? 0.25 : 0; }
        mean += rollout.reward / 3;
        trace.tokens.insert(trace.tokens.end(), c.ids.begin(), c.ids.end());
        trace.logp.insert(trace.logp.end(), c.logp.begin(), c.logp.end());
        group.rollouts.push_back(std::move(rollout));
      }
      for (rl::Rollout& rollout : group.rollouts) { rollout.advantage = rollout.reward - mean; }
      groups.push_back(std::move(group));
    }
    std::vector<rl::TrainItem> items;
    for (const rl::Group& g : groups) {
      for (const rl::Rollout& r : g.rollouts) { items.push_back({&g, &r}); }
    }
    rl::UpdateOptions options;
    options.loss.horizon = 6;
    options.loss.entropy_coef = 0.01;
    options.micro.temperature = sampling.temperature;
    options.micro.tokens_per_micro = 64;  // cuts the batch
    options.learning_rate = 1e-2;
    options.expect_ratio_one = true;  // what was sampled is what training computes, on the device too
    rl::PolicyMetrics metrics(algorithm->traits());
    const rl::UpdateReport report = rl::update_policy(*model, optimizer, *algorithm, items, options, exec, metrics);
    trace.losses.push_back(report.loss);
    trace.norms.push_back(report.optimizer.grad_norm);
  }
  trace.weights = model->params().hash();
  return trace;
}

/// The emulated device with an arena of its own, as rl/device.cpp sets up the real one.
Exec device_exec() {
  static Arena arena(testing::emulated_device());
  kernels::set_backend(&testing::emulated_device());
  Exec exec;
  exec.device = {DeviceKind::cuda, 0};
  exec.arena = &arena;
  return exec;
}

}  // namespace

TEST_CASE("emulator/whole_step: two RL steps of a tiny model on the device have the bits of the CPU") {
  for (const bool tied : {true, false}) {
    CAPTURE(tied);
    const Trace expected = run(Exec{}, tied);
    CHECK(expected.tokens.size() > 20);
    CHECK(expected.norms[0] > 0);
    for (std::uint64_t order = 0; order < 2; ++order) {
      const testing::UseOrder use(order);
      CHECK(run(device_exec(), tied) == expected);
    }
  }
}

TEST_CASE("emulator/whole_step: host code cannot touch elements on the device by accident") {
  const Exec exec = device_exec();
  const Tensor host = Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  const Tensor there = host.near(exec);
  CHECK(there.on_device());
  CHECK_THROWS_WITH(there.span<float>(), doctest::Contains("host code touches the elements of (2, 2) f32 on a device"));
  CHECK_THROWS_WITH(there.raw(), doctest::Contains("on a device"));
  CHECK(there.on_host().span<float>()[3] == 4.0F);
  CHECK(there.slice(1, 2).clone(exec).on_host().span<float>()[0] == 3.0F);
  CHECK(Tensor::empty({3}, DType::i32, exec).on_device() == false);  // ids are checked on the host
}
