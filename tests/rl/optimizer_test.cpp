#include "rl/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "model/safetensors.h"
#include "rl/model_support.h"

using namespace minirl;
using namespace minirl::rl;
using namespace minirl::rl::test;

namespace {

/// Largest difference relative to the largest expected magnitude.
double relative_error(const Tensor& got, const Tensor& want) {
  REQUIRE(got.numel() == want.numel());
  double worst = 0, largest = 0;
  for (Index i = 0; i < want.numel(); ++i) {
    const double error = std::abs(static_cast<double>(got.data<float>()[i]) - want.data<double>()[i]);
    worst = error <= worst ? worst : error;  // NaN wins
    largest = std::max(largest, std::abs(want.data<double>()[i]));
  }
  return worst / largest;
}

/// Three parameters with the shapes of the PyTorch fixture.
void add_parameters(minirl::Params& params) {
  params.add_normal("matrix", {30, 36}, 0.5, 1);
  params.add_ones("norm", {17});
  params.add_normal("small", {3, 5}, 0.5, 1);
}

void fill_gradients(minirl::Params& params, std::uint64_t seed, double scale = 1) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  for (Param& p : params.all()) {
    for (float& g : p.grad().span<float>()) { g = static_cast<float>(scale * random.normal()); }
  }
}

std::string state_hash(const minirl::Params& params, Optimizer& optimizer) {
  Hasher h;
  h.add(params.hash());
  for (const auto& [name, tensor] : optimizer.state()) { h.add(name).add(tensor); }
  return h.hex();
}

}  // namespace

TEST_CASE("rl/optimizer: clipping, decoupled decay and bias correction are those of an independent PyTorch") {
  // Values of order 1 after three steps of about ten float operations each: some 2^-24 = 6e-8.
  constexpr double kTolerance = 5e-7;
  const SafetensorsFile file(std::filesystem::path(MINIRL_SOURCE_DIR) / "tests/reference/fixtures/adamw.safetensors");
  const auto setting = [&](const char* name) { return std::stod(file.metadata().at(name)); };
  minirl::Params params;
  add_parameters(params);
  for (Param& p : params.all()) { p.value = file.read("value.0." + p.name).to(DType::f32); }
  Optimizer optimizer(params, {setting("beta1"), setting("beta2"), setting("eps"), setting("weight_decay"), setting("max_grad_norm")});
  const Tensor rates = file.read("learning_rates"), norms = file.read("norms"), clips = file.read("clips");
  int clipped = 0;
  for (int step = 1; step <= 3; ++step) {
    CAPTURE(step);
    for (Param& p : params.all()) {
      const Tensor g = file.read(fmt::format("grad.{}.{}", step, p.name)).to(DType::f32);
      std::memcpy(p.grad().raw(), g.raw(), static_cast<std::size_t>(g.bytes()));
    }
    const OptimizerReport report = optimizer.step(rates.data<double>()[step - 1], {});
    CHECK(report.grad_norm == doctest::Approx(norms.data<double>()[step - 1]).epsilon(1e-12));
    CHECK(report.clip == doctest::Approx(clips.data<double>()[step - 1]).epsilon(1e-12));
    clipped += report.clip < 1;
    for (const Param& p : params.all()) {
      CAPTURE(p.name);
      CHECK(relative_error(p.value, file.read(fmt::format("value.{}.{}", step, p.name))) < kTolerance);
    }
  }
  CHECK(clipped == 2);
  CHECK(optimizer.steps() == 3);
  for (const auto& entry : optimizer.state()) {
    const auto& name = entry.first;
    const Tensor& tensor = entry.second;
    CAPTURE(name);
    const auto dot = name.find('.');
    CHECK(relative_error(tensor, file.read(name.substr(dot + 1) + "." + name.substr(0, dot))) < kTolerance);
  }
}

TEST_CASE("rl/optimizer: an update has the same bits on every instruction set and thread count") {
  std::string expected;
  for_each_setting([&](const Exec& exec) {
    minirl::Params params;
    params.add_normal("large", {300, 257}, 0.5, 1);
    add_parameters(params);
    Optimizer optimizer(params, {.weight_decay = 0.1, .max_grad_norm = 2});
    for (std::uint64_t step = 0; step < 3; ++step) {
      fill_gradients(params, step);
      optimizer.step(0.01, exec);
    }
    const std::string got = state_hash(params, optimizer);
    if (expected.empty()) { expected = got; }
    CHECK(got == expected);
  });
}

TEST_CASE("rl/optimizer: a gradient that is not finite is refused by name and nothing changes") {
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    minirl::Params params;
    add_parameters(params);
    Optimizer optimizer(params, {});
    fill_gradients(params, 1);
    optimizer.step(0.1, {});
    const std::string before = state_hash(params, optimizer);
    fill_gradients(params, 2);
    params.find("small")->grad().data<float>()[14] = poison;
    try {
      optimizer.step(0.1, {});
      FAIL("accepted");
    } catch (const Error& e) {
      CHECK(e.code() == Exit::invariant);
      CHECK(std::string(e.what()).find("small") != std::string::npos);
    }
    CHECK(state_hash(params, optimizer) == before);
    CHECK(optimizer.steps() == 1);
    CHECK(gradient_norm(params, {}) == 0);  // the next step starts clean
  }
}

TEST_CASE("rl/optimizer: large finite gradients neither overflow the norm nor the update") {
  minirl::Params params;
  add_parameters(params);
  Optimizer optimizer(params, {});
  for (Param& p : params.all()) {
    for (float& g : p.grad().span<float>()) { g = 3e38F; }
  }
  const OptimizerReport report = optimizer.step(0.1, {});
  CHECK(report.grad_norm == doctest::Approx(3e38 * std::sqrt(30.0 * 36 + 17 + 15)).epsilon(1e-6));
  for (const Param& p : params.all()) {
    for (const float w : p.value.span<float>()) { CHECK(std::isfinite(w)); }
  }
}

TEST_CASE("rl/optimizer: the uses of a tied parameter are added before the norm is taken") {
  minirl::Params params;
  Param& p = params.add_normal("tied", {1, 2}, 0.5, 1);
  p.grad(0).data<float>()[0] = 3;
  p.grad(1).data<float>()[0] = 1;
  p.grad(1).data<float>()[1] = 3;
  Optimizer optimizer(params, {.max_grad_norm = std::numeric_limits<double>::infinity()});
  const OptimizerReport report = optimizer.step(0.1, {});
  CHECK(report.grad_norm == 5);
  CHECK(report.clip == 1);
  CHECK(p.grad(0).data<float>()[0] == 0);
  CHECK(p.grad(1).data<float>()[1] == 0);
}

TEST_CASE("rl/optimizer: decay shrinks matrices only, and without a gradient nothing else moves") {
  minirl::Params params;
  add_parameters(params);
  const Tensor before = params.find("matrix")->value.clone();
  Optimizer optimizer(params, {.weight_decay = 0.5});
  params.zero_grads();
  optimizer.step(0.125, {});
  for (const float w : params.find("norm")->value.span<float>()) { CHECK(w == 1.0F); }
  const Tensor& after = params.find("matrix")->value;
  for (Index i = 0; i < before.numel(); ++i) {
    CHECK(after.data<float>()[i] == before.data<float>()[i] - 0.125F * (0.5F * before.data<float>()[i]));
  }
}

TEST_CASE("rl/optimizer: packed weights are made again after an update") {
  minirl::Params params;
  Param& p = params.add_normal("w", {8, 8}, 0.5, 1);
  const Tensor x = Tensor::from<float>({1, 8}, std::vector<float>{1, 0, 0, 0, 0, 0, 0, 0});
  const auto product = [&] {
    Tensor y = Tensor::empty({1, 8}, DType::f32);
    kernels::linear_forward({}, x, p.packed_forward({}), y);
    return y;
  };
  product();
  Optimizer optimizer(params, {});
  fill_gradients(params, 3);
  optimizer.step(0.5, {});
  const Tensor y = product();
  for (Index i = 0; i < 8; ++i) { CHECK(y.data<float>()[i] == p.value.data<float>()[i * 8]); }
}

TEST_CASE("rl/optimizer: moments carry the names of their parameters, in order") {
  minirl::Params params;
  add_parameters(params);
  Optimizer optimizer(params, {});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : optimizer.state()) { names.push_back(name); }
  CHECK(names == std::vector<std::string>{"matrix.exp_avg", "matrix.exp_avg_sq", "norm.exp_avg", "norm.exp_avg_sq", "small.exp_avg", "small.exp_avg_sq"});
}
