// Weights and moments stored as bf16 with stochastic rounding: unbiased, deterministic, resumable.
#include <bit>
#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include "core/hash.h"
#include "kernels/adamw.h"
#include "rl/micro_batch.h"
#include "rl/model_support.h"
#include "rl/optimizer.h"

namespace minirl::rl {
namespace {

using namespace minirl::rl::test;

float stored(std::uint16_t bits) { return to_float(Bf16{bits}); }

void fill(minirl::Params& params, std::uint64_t seed, double scale) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  for (Param& p : params.all()) {
    for (float& g : p.grad().span<float>()) {
      g = static_cast<float>(scale * random.normal());
    }
  }
}

struct Run {
  minirl::Params params;
  std::unique_ptr<Optimizer> optimizer;
  Run(DType weights, DType state, std::uint64_t seed) {
    params.add_normal("matrix", {70, 33}, 0.5, 1);
    params.add_ones("norm", {70});
    params.store_matrices_as(weights);
    AdamWOptions options;
    options.weight_decay = 0.1;
    options.state = state;
    options.seed = seed;
    optimizer = std::make_unique<Optimizer>(params, options);
  }
  void step(std::uint64_t seed, const Exec& exec = {.threads = 2}) {
    fill(params, seed, 0.1);
    optimizer->step(1e-3, exec);
  }
  std::string hash() {
    Hasher h;
    h.add(params.hash());
    for (const auto& [name, tensor] : optimizer->state()) {
      h.add(name).add(tensor);
    }
    return h.hex();
  }
};

}  // namespace

TEST_CASE("rl/bf16_storage: a value becomes one of its two neighbours, with the value as expectation") {
  rng::Random random(rng::Key::of(1, rng::Stream::test));
  for (int i = 0; i < 200; ++i) {
    const auto x = static_cast<float>(random.normal() * (i % 2 == 0 ? 1 : 1e-30));
    const float down = stored(kernels::round_stochastically(x, 0));
    const float up = stored(kernels::round_stochastically(x, 0xffff));
    CHECK(std::abs(down) <= std::abs(x));
    CHECK(std::abs(up) >= std::abs(x));
    double sum = 0;
    for (std::uint32_t noise = 0; noise < 0x10000; ++noise) {
      const float got = stored(kernels::round_stochastically(x, noise));
      if (got != down && got != up) {
        FAIL("a third value");
      }
      sum += static_cast<double>(got);
    }
    CHECK(sum / 65536 == doctest::Approx(static_cast<double>(x)).epsilon(1e-12));
  }
  for (const float exact : {0.0F, -0.0F, 1.0F, -2.5F, 0x1p-126F}) {
    for (const std::uint32_t noise : {0U, 1U, 0xffffU, 0xdeadbeefU}) {
      CHECK(std::bit_cast<std::uint32_t>(stored(kernels::round_stochastically(exact, noise))) ==
            std::bit_cast<std::uint32_t>(exact));
    }
  }
  CHECK(std::isfinite(stored(kernels::round_stochastically(3.4e38F, 0xffff))));
  CHECK(std::isinf(stored(kernels::round_stochastically(INFINITY, 0xffff))));
  CHECK(std::isnan(stored(kernels::round_stochastically(std::bit_cast<float>(0x7fc00000U), 0xffff))));
}

TEST_CASE("rl/bf16_storage: bits depend on the seed and the step, not on threads or instruction sets") {
  for (const auto& types : {std::pair{DType::bf16, DType::bf16},
                            {DType::bf16, DType::f32},
                            {DType::f32, DType::bf16}}) {
    const DType weights = types.first, state = types.second;
    CAPTURE(name(weights));
    CAPTURE(name(state));
    const auto result = [&](std::uint64_t seed, int threads) {
      Run run(weights, state, seed);
      run.step(1, {.threads = threads});
      run.step(2, {.threads = threads});
      return run.hash();
    };
    const std::string expected = result(7, 1);
    CHECK(result(7, 3) == expected);
    CHECK(result(8, 1) != expected);
    for (const Isa isa : {Isa::portable, best_isa()}) {
      set_isa(isa);
      CHECK(result(7, 2) == expected);
    }
    set_isa(best_isa());
  }
}

TEST_CASE("rl/bf16_storage: what continues from a stored state has the bits of what went on") {
  Run whole(DType::bf16, DType::bf16, 3), half(DType::bf16, DType::bf16, 3), again(DType::bf16, DType::bf16, 3);
  whole.step(1);
  whole.step(2);
  half.step(1);
  again.params.copy_values(half.params);
  auto from = half.optimizer->state();
  auto to = again.optimizer->state();
  for (std::size_t i = 0; i < from.size(); ++i) {
    CHECK(from[i].second.dtype() == DType::bf16);
    std::memcpy(to[i].second.raw(), from[i].second.raw(), static_cast<std::size_t>(from[i].second.bytes()));
  }
  again.optimizer->set_steps(half.optimizer->steps());
  again.step(2);
  CHECK(again.hash() == whole.hash());
}

TEST_CASE("rl/bf16_storage: updates far below the spacing of bf16 still move the mean as fp32 would") {
  constexpr int kSteps = 200;
  Run narrow(DType::bf16, DType::f32, 3), wide(DType::f32, DType::f32, 3);
  wide.params.copy_values(narrow.params);  // the same start
  double moved[2] = {0, 0};
  for (Run* run : {&narrow, &wide}) {
    Param& p = *run->params.find("matrix");
    const auto mean = [&] {
      const Tensor values = p.value.to(DType::f64);
      double sum = 0;
      for (const double v : values.span<double>()) {
        sum += v;
      }
      return sum / static_cast<double>(values.numel());
    };
    const double before = mean();
    for (int s = 0; s < kSteps; ++s) {
      for (Param& q : run->params.all()) {
        for (float& g : q.grad().span<float>()) {
          g = 1;
        }
      }
      run->optimizer->step(1e-5, {});  // bf16 near 0.5 has a spacing of 2e-3
    }
    moved[run == &wide ? 1 : 0] = mean() - before;
  }
  CHECK(moved[1] == doctest::Approx(-kSteps * 1e-5).epsilon(0.02));
  // 2310 weights, a standard error of a few percent.
  CHECK(moved[0] == doctest::Approx(moved[1]).epsilon(0.15));
}

TEST_CASE("rl/bf16_storage: a model with bf16 matrices computes as one with their values in fp32") {
  for (const bool tied : {true, false}) {
    const auto narrow = make_decoder(tiny_model(tied), DType::f32, 7);
    narrow->params().store_matrices_as(DType::bf16);
    const auto wide = make_decoder(tiny_model(tied), DType::f32, 8);
    wide->params().copy_values(narrow->params());
    const std::vector<Token> prompt = {1, 5, 9, 2}, completion = {7, 7, 3, 11, 0};
    const ScoredSequence sequence{prompt, completion};
    std::string hashes[2];
    for (Decoder* model : {narrow.get(), wide.get()}) {
      model->params().keep_packed(model == wide.get());  // packing at every use changes no bit
      accumulate_gradients(*model, {.threads = 2}, std::span(&sequence, 1), {},
                           [](std::size_t, const SequenceScores&, const SequenceSeeds& seeds) {
                             for (float& d : seeds.dlogp) {
                               d = 0.5F;
                             }
                           });
      model->params().combine_grads({});
      Hasher h;
      for (Param& p : model->params().all()) {
        CHECK(p.grad().dtype() == DType::f32);
        h.add(p.grad());
      }
      hashes[model == wide.get() ? 1 : 0] = h.hex();
    }
    CHECK(hashes[0] == hashes[1]);
  }
}

}  // namespace minirl::rl
