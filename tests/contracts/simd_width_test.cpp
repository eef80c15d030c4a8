// R3: a short whole training -- sample, score, backward, update, three times -- ends with the same bits on every instruction set, with
// every thread count and micro-batch, and what the sampler records is what training computes.
#include <doctest/doctest.h>

#include "model/sampler.h"
#include "rl/model_support.h"
#include "rl/optimizer.h"

using namespace minirl;
using namespace minirl::rl;
using namespace minirl::rl::test;

namespace {

struct Outcome {
  std::string weights, completions;
  std::size_t tokens = 0, different = 0;  // log-probabilities whose bits differ between sampling and training
};

Outcome train(const Exec& exec, Index tokens_per_micro) {
  const auto model = make_decoder(tiny_model(), DType::f32, 3);
  Optimizer optimizer(model->params(), {.weight_decay = 0.01});
  Outcome outcome;
  Hasher completions;
  for (std::uint64_t step = 0; step < 3; ++step) {
    std::vector<SampleRequest> requests;
    for (const Index length : {3, 40, 31, 1, 66}) {
      rng::Random random(rng::Key::of(step, rng::Stream::data).derive(static_cast<std::uint64_t>(length)));
      SampleRequest& request = requests.emplace_back();
      for (Index i = 0; i < length; ++i) { request.prompt.push_back(static_cast<Token>(random.below(53))); }
      for (std::uint64_t s = 0; s < 3; ++s) { request.keys.push_back(rng::Key::of(9, rng::Stream::rollout).derive(step * 100 + requests.size(), s)); }
    }
    const auto groups = sample(*model, requests, {.temperature = 0.8, .max_new_tokens = 37, .max_batch = 4, .stop_ids = {0, 1, 2}}, exec);
    std::vector<ScoredSequence> sequences;
    std::vector<const Completion*> sampled;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (const Completion& c : groups[i]) {
        sequences.push_back({requests[i].prompt, c.ids});
        sampled.push_back(&c);
        completions.add(std::as_bytes(std::span(c.ids))).add(std::as_bytes(std::span(c.logp)));
      }
    }
    accumulate_gradients(*model, exec, sequences, {0.8, tokens_per_micro, false, 0},
                         [&](std::size_t s, const SequenceScores& scores, const SequenceSeeds& seeds) {
                           const auto logp = scores.logp;
                           for (std::size_t t = 0; t < logp.size(); ++t) {
                             outcome.different += std::memcmp(&logp[t], &sampled[s]->logp[t], sizeof(float)) != 0;
                             ++outcome.tokens;
                             seeds.dlogp[t] = (s % 3 == 0 ? -0.05F : 0.02F) * (1.0F + 0.1F * logp[t]);
                           }
                         });
    optimizer.step(0.01, exec);
  }
  outcome.weights = model->params().hash();
  outcome.completions = completions.hex();
  return outcome;
}

}  // namespace

TEST_CASE("contracts/simd_width: a short training has the same bits on every instruction set, thread count and micro-batch") {
  Outcome expected;
  for_each_setting([&](const Exec& exec) {
    for (const Index tokens : {110, 512, 4096}) {
      CAPTURE(tokens);
      const Outcome got = train(exec, tokens);
      CHECK(got.different == 0);  // on the first update after a rollout every ratio is exactly 1
      CHECK(got.tokens > 500);
      if (expected.weights.empty()) { expected = got; }
      CHECK(got.weights == expected.weights);
      CHECK(got.completions == expected.completions);
    }
  });
  MESSAGE("weights " << expected.weights);
}
