// Against an independent PyTorch in fp64 (tests/reference/qwen3_reference.py), from files that it wrote: a
// Hugging Face directory a case and the numbers that follow from it.
#include <doctest/doctest.h>

#include <cmath>

#include "core/files.h"
#include "model/pretrained.h"
#include "model/safetensors.h"

using namespace minirl;

namespace {

const std::string kCases[] = {"mha_tied", "gqa2_untied", "gqa4_tied", "wide_heads_bf16", "long_rows_tied"};

// Errors are relative to the largest magnitude of the tensor. fp64: some hundred roundings of 2^-53 through three layers
// stay four digits below. fp32: the same number of roundings of 2^-24 = 6e-8.
constexpr double kTolerance64 = 1e-10;
constexpr double kTolerance32 = 1e-5;

struct Case {
  std::filesystem::path directory;
  SafetensorsFile expected;
  std::unique_ptr<Decoder> model;
  std::vector<Token> ids;
  std::vector<std::span<const Token>> sequences;
  Tensor targets, rows;
  double temperature;

  Case(const std::string& name, DType dtype)
      : directory(std::filesystem::path(MINIRL_SOURCE_DIR) / "tests/reference/fixtures/qwen3" / name),
        expected(directory / "expected.safetensors"), model(load_pretrained(directory, dtype)),
        temperature(std::stod(expected.metadata().at("temperature"))) {
    const Tensor stored = expected.read("ids");
    for (const auto id : stored.span<std::int64_t>()) { ids.push_back(static_cast<Token>(id)); }
    std::size_t begin = 0;
    const Tensor lengths = expected.read("lengths");
    for (const auto n : lengths.span<std::int64_t>()) {
      sequences.push_back(std::span(ids).subspan(begin, static_cast<std::size_t>(n)));
      begin += static_cast<std::size_t>(n);
    }
    REQUIRE(begin == ids.size());
    targets = ints("targets");
    std::vector<std::int32_t> all(ids.size());
    for (std::size_t i = 0; i < all.size(); ++i) { all[i] = static_cast<std::int32_t>(i); }
    rows = Tensor::from<std::int32_t>({static_cast<Index>(all.size())}, all);
  }
  Tensor ints(const char* name) const {
    const Tensor wide = expected.read(name);
    std::vector<std::int32_t> narrow;
    for (const auto v : wide.span<std::int64_t>()) { narrow.push_back(static_cast<std::int32_t>(v)); }
    return Tensor::from<std::int32_t>({wide.numel()}, narrow);
  }
};

/// Largest difference, relative to the largest expected magnitude; infinity where anything is NaN.
double relative_error(const Tensor& got, const Tensor& want) {
  REQUIRE(got.numel() == want.numel());
  const Tensor wide = got.to(DType::f64);
  double worst = 0, largest = 0;
  for (Index i = 0; i < want.numel(); ++i) {
    const double w = want.data<double>()[i], error = std::abs(wide.data<double>()[i] - w);
    if (!(error < INFINITY)) { return INFINITY; }
    worst = std::max(worst, error);
    largest = std::max(largest, std::abs(w));
  }
  REQUIRE(largest > 0);
  return worst / largest;
}

double tolerance(DType dtype) { return dtype == DType::f64 ? kTolerance64 : kTolerance32; }

}  // namespace

TEST_CASE("model/reference: logits, log-probabilities and entropies are those of an independent PyTorch") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const std::string& name : kCases) {
      CAPTURE(name);
      CAPTURE(minirl::name(dtype));
      Case c(name, dtype);
      const Exec exec{.threads = 2};
      Tape tape(false, exec);
      const Ragged batch = pack_sequences(c.sequences, exec);
      const Var hidden = c.model->hidden({tape, nullptr}, batch);
      const Var logits = ops::linear(tape, c.model->head_input({tape, nullptr}, hidden, c.ints("logits_rows")), c.model->head());
      CHECK(relative_error(logits.value, c.expected.read("logits")) < tolerance(dtype));
      for (const std::string temperature : {"1.0", "0.7"}) {
        CAPTURE(temperature);
        const ops::LogProbOptions options{std::stod(temperature), true, 0, 7};  // chunks of 7 rows
        const Tensor out = c.model->token_logp({tape, nullptr}, batch, c.rows, c.targets, options).value;
        CHECK(relative_error(out.slice(0, 1), c.expected.read("logp_" + temperature)) < tolerance(dtype));
        CHECK(relative_error(out.slice(1, 2), c.expected.read("entropy_" + temperature)) < tolerance(dtype));
      }
    }
  }
}

TEST_CASE("model/reference: loss and the gradient of every parameter are those of an independent PyTorch") {
  Index parameters = 0;
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const std::string& name : kCases) {
      CAPTURE(name);
      CAPTURE(minirl::name(dtype));
      Case c(name, dtype);
      const Exec exec{.threads = 2};
      Tape tape(true, exec);
      const Var out = c.model->token_logp({tape, nullptr}, pack_sequences(c.sequences, exec), c.rows, c.targets, {c.temperature, true, 0, 0});
      // loss = -sum_t (weight_t log pi_t + entropy_weight_t H_t)
      const Tensor values = out.value.to(DType::f64);
      Tensor seed = Tensor::empty(values.shape(), DType::f64);
      const Index n = c.targets.numel();
      double loss = 0;
      for (Index row = 0; row < 2; ++row) {
        const Tensor weights = c.expected.read(row == 0 ? "loss_weights" : "entropy_weights");
        for (Index t = 0; t < n; ++t) {
          seed.data<double>()[row * n + t] = -weights.data<double>()[t];
          loss -= weights.data<double>()[t] * values.data<double>()[row * n + t];
        }
      }
      CHECK(relative_error(Tensor::from<double>({1}, std::span<const double>(&loss, 1)), c.expected.read("loss")) < tolerance(dtype));
      tape.backward(out, seed.to(dtype));
      c.model->params().combine_grads(exec);
      for (Param& p : c.model->params().all()) {
        CAPTURE(p.name);
        CHECK(relative_error(p.grad(), c.expected.read("grad." + p.name)) < tolerance(dtype));
        ++parameters;
      }
    }
  }
  CHECK(parameters == 2 * (24 + 25 + 35 + 14 + 13));
}

TEST_CASE("model/reference: a directory written by another program loads with the bits that it holds") {
  for (const std::string& name : kCases) {
    CAPTURE(name);
    const Case c(name, DType::f32);
    const SafetensorsFile file(c.directory / "model.safetensors");
    CHECK(file.metadata().at("format") == "pt");
    CHECK(file.entries().size() == c.model->params().all().size());
    for (const Param& p : c.model->params().all()) {
      const Tensor stored = file.read(p.name).to(DType::f32);
      CHECK(std::memcmp(stored.raw(), p.value.raw(), static_cast<std::size_t>(stored.bytes())) == 0);
    }
  }
}
