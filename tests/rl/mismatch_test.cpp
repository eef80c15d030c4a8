// The mismatch dial: number formats against brute force, and rollout weights against their definition.
#include "rl/mismatch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/dtype.h"
#include "model/sampler.h"
#include "rl/model_support.h"
#include "rl/rollout_policy.h"

namespace minirl::rl {
namespace {

using test::tiny_model;

// All finite numbers of the format, from its definition: sign, 4 exponent bits (bias 7), 3 mantissa bits; the
// all-ones pattern is NaN.
std::vector<float> e4m3_numbers() {
  std::vector<float> out;
  for (int code = 0; code < 127; ++code) {
    const int exponent = code >> 3;
    const int mantissa = code & 7;
    out.push_back(exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9) : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10));
  }
  return out;
}

std::vector<float> values(Decoder& model, const char* name) {
  const auto v = model.params().find(name)->value.span<float>();
  return {v.begin(), v.end()};
}

void set_all(Decoder& model, float x) {
  for (Param& p : model.params().all()) {
    for (float& v : p.value.span<float>()) { v = x; }
  }
  model.params().touch();
}

}  // namespace

TEST_CASE("rl/mismatch: rounding to e4m3 is the nearest number of the format, ties to even") {
  const std::vector<float> numbers = e4m3_numbers();
  CHECK(numbers.back() == 448.0F);
  for (const float x : numbers) {
    CHECK(round_e4m3(x) == x);
    CHECK(round_e4m3(-x) == -x);
  }
  rng::Random random(rng::Key::of(3, rng::Stream::test));
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(random.normal() * std::exp2(random.uniform() * 20 - 11));
    const float got = round_e4m3(x);
    float best = numbers[0];
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const float closer = std::fabs(std::fabs(x) - numbers[n]) - std::fabs(std::fabs(x) - best);
      if (closer < 0 || (closer == 0 && n % 2 == 0)) { best = numbers[n]; }  // an even code has an even mantissa
    }
    CHECK_MESSAGE(std::fabs(got) == best, x);
    CHECK(std::signbit(got) == std::signbit(x));
  }
  CHECK(std::isnan(round_e4m3(NAN)));
}

TEST_CASE("rl/mismatch: stored weights have the numbers of their format; embedding and norms stay") {
  for (const RolloutWeights kind : {RolloutWeights::bf16, RolloutWeights::e4m3, RolloutWeights::int8}) {
    const auto model = make_decoder(tiny_model(), DType::f32, 5);
    const auto before = make_decoder(tiny_model(), DType::f32, 5);
    round_weights(model->params(), kind);
    auto old = before->params().all().begin();
    for (Param& p : model->params().all()) {
      CAPTURE(p.name);
      const bool layer = p.name.find(".layers.") != std::string::npos && p.value.shape().rank == 2;
      const auto now = p.value.span<float>();
      const auto was = old->value.span<float>();
      const Index columns = p.value.shape().last();
      for (Index r = 0; r < p.value.rows(); ++r) {
        float top = 0;
        for (Index j = 0; j < columns; ++j) { top = std::max(top, std::fabs(was[static_cast<std::size_t>(r * columns + j)])); }
        for (Index j = 0; j < columns; ++j) {
          const auto i = static_cast<std::size_t>(r * columns + j);
          if (kind == RolloutWeights::bf16) {
            CHECK((std::bit_cast<std::uint32_t>(now[i]) & 0xffffU) == 0);
            CHECK(std::fabs(now[i] - was[i]) <= std::fabs(was[i]) / 256);
          } else if (!layer) {
            CHECK(now[i] == was[i]);
          } else {
            const float step = kind == RolloutWeights::int8 ? top / 127 / 2 : std::max(std::fabs(was[i]) / 16, top / 448 / 1024) * 1.001F;
            CHECK(std::fabs(now[i] - was[i]) <= step * 1.0001F);
          }
        }
      }
      ++old;
    }
  }
}

TEST_CASE("rl/rollout_policy: without a setting it is the live model itself") {
  const auto model = make_decoder(tiny_model(), DType::f32, 5);
  RolloutPolicy policy(*model, {}, 0);
  CHECK(policy.exact());
  CHECK(&policy.model() == model.get());
  CHECK(policy.state().empty());
  MismatchOptions noise;
  noise.logit_noise = 0.1;
  RolloutPolicy noisy(*model, noise, 0);
  CHECK_FALSE(noisy.exact());
  CHECK(&noisy.model() == model.get());
}

TEST_CASE("rl/rollout_policy: staleness k gives the weights of k updates ago, at the start the oldest there are") {
  const auto model = make_decoder(tiny_model(), DType::f32, 5);
  MismatchOptions stale;
  stale.staleness = 2;
  set_all(*model, 0);
  RolloutPolicy policy(*model, stale, 0);
  for (int update = 1; update <= 6; ++update) {
    set_all(*model, static_cast<float>(update));
    policy.updated();
    CHECK(values(policy.model(), "model.norm.weight")[0] == static_cast<float>(std::max(0, update - 2)));
    CHECK(values(*model, "model.norm.weight")[0] == static_cast<float>(update));
  }
}

TEST_CASE("rl/rollout_policy: the average is a <- d a + (1 - d) theta, and its state resumes to the same bits") {
  const auto model = make_decoder(tiny_model(), DType::f32, 5);
  set_all(*model, 1);
  MismatchOptions stale;
  stale.staleness = 1;
  RolloutPolicy policy(*model, stale, 0.75);
  double average = 1;
  double before = 1;
  for (int update = 1; update <= 5; ++update) {
    set_all(*model, static_cast<float>(update * update));
    policy.updated();
    before = average;
    average = 0.75 * average + 0.25 * update * update;
    CHECK(values(policy.model(), "model.norm.weight")[0] == doctest::Approx(before).epsilon(1e-6));
  }
  RolloutPolicy resumed(*model, stale, 0.75);
  resumed.load_state(policy.state());
  for (RolloutPolicy* p : {&policy, &resumed}) { p->updated(); }
  CHECK(policy.model().params().hash() == resumed.model().params().hash());
  RolloutPolicy other(*model, {}, 0.5);
  CHECK_THROWS_AS(other.load_state({}), Error);
}

TEST_CASE("rl/mismatch: logit noise is seeded, independent of the batch, and centred") {
  const auto model = make_decoder(tiny_model(), DType::f32, 5);
  const rng::Key key = rng::Key::of(1, rng::Stream::test);
  std::vector<SampleRequest> requests;
  for (std::uint64_t i = 0; i < 6; ++i) { requests.push_back({{static_cast<Token>(i), 3, 7}, {key.derive(i, 0), key.derive(i, 1)}}); }
  SamplerOptions options;
  options.max_new_tokens = 20;
  options.logit_noise = 0.3;
  const auto wide = sample(*model, requests, options, {});
  options.max_batch = 1;
  const auto narrow = sample(*model, requests, options, Exec{.threads = 3});
  options.logit_noise = 0;
  const auto without = sample(*model, requests, options, {});
  double sum = 0;
  double n = 0;
  bool differ = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      CHECK(wide[i][j].ids == narrow[i][j].ids);
      CHECK(wide[i][j].logp == narrow[i][j].logp);
      differ = differ || wide[i][j].logp != without[i][j].logp;
      const ScoredSequence s{requests[i].prompt, wide[i][j].ids};
      const auto exact = score_sequences(*model, {}, std::span(&s, 1), {});
      for (std::size_t t = 0; t < wide[i][j].logp.size(); ++t) {
        sum += static_cast<double>(wide[i][j].logp[t] - exact[0].logp[t]);
        n += 1;
      }
    }
  }
  CHECK(differ);
  CHECK(std::fabs(sum / n) < 0.15);
}

}  // namespace minirl::rl
