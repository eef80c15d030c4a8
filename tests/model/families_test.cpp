// Every family against transformers itself (tests/reference/families_reference.py): directories that
// its save_pretrained wrote, in several spellings of config.json, types and shards, and the logits and
// greedy tokens that it computes from them.
#include <cmath>
#include <cstring>
#include <set>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "core/files.h"
#include "core/hash.h"
#include "model/family.h"
#include "model/pretrained.h"
#include "model/rope_scaling.h"
#include "model/sampler.h"
#include "model/temporary.h"

using namespace minirl;
using namespace minirl::test;

namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;
  std::size_t files;
  StoredType type;
  RopeScaling::Kind scaling;
  bool tied;
};
using Kind = RopeScaling::Kind;
const Case kCases[] = {
    {"qwen3_tied_f32", 1, StoredType::F32, Kind::none, true},
    {"qwen3_sharded_bf16", 4, StoredType::BF16, Kind::none, false},
    {"qwen3_yarn", 1, StoredType::F32, Kind::yarn, true},
    {"qwen2_bf16", 1, StoredType::BF16, Kind::none, true},
    {"qwen2_sharded_f32", 3, StoredType::F32, Kind::none, false},
    {"llama_rope3_f32", 1, StoredType::F32, Kind::llama3, true},
    {"llama_sharded_f16", 3, StoredType::F16, Kind::llama3, false},
    {"llama_linear", 1, StoredType::BF16, Kind::linear, true},
};
// Largest error of a logit, relative to the largest logit of the case. transformers makes the rotary
// angles in fp32, which bounds what fp64 can agree to.
constexpr double kTolerance = 1e-5;

fs::path directory_of(const std::string& name) {
  return fs::path(MINIRL_SOURCE_DIR) / "tests/reference/fixtures/families" / name;
}

std::vector<Token> tokens(const SafetensorsFile& file, const std::string& name) {
  const Tensor stored = file.read(name);
  std::vector<Token> out;
  for (const auto id : stored.span<std::int64_t>()) {
    out.push_back(static_cast<Token>(id));
  }
  return out;
}

Tensor logits_of(Decoder& model, std::span<const Token> ids) {
  const Exec exec{.threads = 2};
  Tape tape(false, exec);
  const Ragged batch = pack_sequences(std::span(&ids, 1), exec);
  std::vector<std::int32_t> rows(ids.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<std::int32_t>(i);
  }
  const Tensor row = Tensor::from<std::int32_t>({static_cast<Index>(rows.size())}, rows);
  const Var hidden = model.hidden({tape, nullptr}, batch);
  const Var top = model.head_input({tape, nullptr}, hidden, row);
  return ops::linear(tape, top, model.head()).value;
}

double worst_error(const Tensor& got, const Tensor& want) {
  REQUIRE(got.numel() == want.numel());
  const Tensor wide = got.to(DType::f64);
  double worst = 0, largest = 0;
  for (Index i = 0; i < want.numel(); ++i) {
    const double w = want.data<double>()[i], error = std::abs(wide.data<double>()[i] - w);
    worst = error < INFINITY ? std::max(worst, error) : INFINITY;
    largest = std::max(largest, std::abs(w));
  }
  REQUIRE(largest > 0.1);
  return worst / largest;
}

void check_case(const fs::path& model_directory, const fs::path& expected_file) {
  const SafetensorsFile expected(expected_file);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto model = load_pretrained(model_directory, dtype);
    std::vector<SampleRequest> requests;
    for (int i = 0; i < 3; ++i) {
      const auto prompt = tokens(expected, fmt::format("prompt_{}", i));
      CHECK(worst_error(logits_of(*model, prompt),
                        expected.read(fmt::format("logits_{}", i))) < kTolerance);
      requests.push_back({prompt, {rng::Key::of(1, rng::Stream::test)}});
    }
    SamplerOptions options;
    options.greedy = true;
    options.max_new_tokens = 24;
    const auto completions = sample(*model, requests, options, {.threads = 2});
    for (int i = 0; i < 3; ++i) {
      CHECK(completions[static_cast<std::size_t>(i)][0].ids ==
            tokens(expected, fmt::format("greedy_{}", i)));
    }
  }
}

}  // namespace

TEST_CASE("model/families: logits and greedy tokens are those of transformers") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const fs::path directory = directory_of(c.name);
    const OpenedDirectory opened = open_pretrained(directory);
    CHECK(opened.weights.files() == c.files);
    CHECK(opened.weights.tensors().at("model.layers.0.mlp.up_proj.weight").entry.type == c.type);
    CHECK(opened.config.rope_scaling.kind == c.scaling);
    CHECK(opened.config.tie_word_embeddings == c.tied);
    check_case(directory, directory / "expected.safetensors");
  }
}

TEST_CASE("model/families: what was loaded is saved and loaded again to the bit, in shards and in one") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const fs::path directory = directory_of(c.name);
    const auto model = load_pretrained(directory);
    for (const std::size_t limit : {kDefaultShardBytes, std::size_t{3000}}) {
      const TemporaryDirectory out;
      SaveOptions options;
      options.type = c.type;  // f32 values that came from 16 bits go back into them without loss
      options.max_shard_bytes = limit;
      save_pretrained(out.path(), *model, {2, -1, -1}, options);
      const Weights before(directory), after(out.path());
      CHECK((after.files() > 1) == (limit == 3000));
      CHECK(before.tensors().size() == after.tensors().size());
      for (const auto& [key, place] : before.tensors()) {
        const std::string& tensor = key;
        CAPTURE(tensor);
        REQUIRE(after.contains(tensor));
        CHECK(after.tensors().at(tensor).entry.type == place.entry.type);
        CHECK(after.tensors().at(tensor).entry.shape == place.entry.shape);
        before.visit(tensor, [&](std::span<const std::byte> a) {
          after.visit(tensor, [&](std::span<const std::byte> b) {
            CHECK((a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0));
          });
        });
      }
      const auto again = load_pretrained(out.path());
      CHECK(again->params().hash() == model->params().hash());
      check_case(out.path(), directory / "expected.safetensors");
    }
  }
}

TEST_CASE("model/families: gradients of every parameter, biases included, pass the check in fp64") {
  for (const std::string name : {"qwen2_bf16", "llama_rope3_f32", "qwen3_yarn"}) {
    CAPTURE(name);
    const auto model = load_pretrained(directory_of(name), DType::f64);
    Index biases = 0;
    std::vector<Param*> params;
    for (Param& p : model->params().all()) {
      biases += p.name.ends_with(".bias") ? 1 : 0;
      params.push_back(&p);
    }
    CHECK(biases == (name == "qwen2_bf16" ? 6 : 0));
    const std::vector<Token> ids = {1, 5, 9, 2, 7, 7, 3};
    const std::span<const Token> input(ids);
    const Exec exec{.threads = 2};
    const Tensor rows = Tensor::from<std::int32_t>({3}, std::vector<std::int32_t>{1, 4, 6});
    const Tensor targets = Tensor::from<std::int32_t>({3}, std::vector<std::int32_t>{4, 0, 11});
    for (const bool recompute : {false, true}) {
      model->set_recompute_layers(recompute);
      const auto build = [&](Tape& tape, std::span<const Var>) {
        return model->token_logp({tape, nullptr}, pack_sequences(std::span(&input, 1), exec), rows,
                                 targets, {0.8, true, 0, 0});
      };
      const GradCheckResult result =
          gradcheck(build, {}, params, exec, {.step = 1e-3, .max_coordinates = 40});
      CAPTURE(result.where);
      CHECK(result.worst < 1e-6);
      CHECK(result.coordinates > 500);
    }
  }
}

TEST_CASE("model/families: layers that are computed again give the gradients of those that are kept") {
  for (const std::string name : {"qwen3_sharded_bf16", "qwen2_sharded_f32"}) {
    std::string hashes[2];
    for (const bool recompute : {false, true}) {
      const auto model = load_pretrained(directory_of(name));
      model->set_recompute_layers(recompute);
      const std::vector<Token> ids = {1, 5, 9, 2, 7, 7, 3, 30, 11};
      const std::span<const Token> input(ids);
      const Exec exec{.threads = 2};
      const Tensor rows = Tensor::from<std::int32_t>({3}, std::vector<std::int32_t>{1, 4, 8});
      const Tensor targets = Tensor::from<std::int32_t>({3}, std::vector<std::int32_t>{4, 0, 11});
      for (int micro = 0; micro < 2; ++micro) {
        Tape tape(true, exec);
        const Var out = model->token_logp(
            {tape, nullptr}, pack_sequences(std::span(&input, 1), exec), rows, targets, {});
        tape.backward(out, Tensor::from<float>({1, 3}, std::vector<float>{1, -2, 0.5F}));
      }
      model->params().combine_grads(exec);
      Hasher hasher;
      for (Param& p : model->params().all()) {
        hasher.add(p.grad());
      }
      hashes[recompute ? 1 : 0] = hasher.hex();
    }
    CHECK(hashes[0] == hashes[1]);
  }
}

TEST_CASE("model/families: frequencies of stretched positions keep what turns fast and slow the rest") {
  ModelConfig c;
  c.head_dim = 128;
  c.rope_theta = 5e5;
  const auto plain = rope_frequencies(c);
  c.rope_scaling = {.kind = Kind::llama3, .factor = 8, .original_max_positions = 8192};
  const auto llama = rope_frequencies(c);
  CHECK(llama.frequency[0] == plain.frequency[0]);
  CHECK(llama.frequency[63] == plain.frequency[63] / 8);
  CHECK(llama.magnitude == 1);
  c.rope_theta = 1e6;
  c.rope_scaling = {.kind = Kind::yarn, .factor = 4, .original_max_positions = 32768};
  const auto yarn = rope_frequencies(c);
  CHECK(yarn.frequency[0] == 1);
  CHECK(yarn.frequency[63] == doctest::Approx(std::pow(1e6, -126.0 / 128) / 4).epsilon(1e-14));
  CHECK(yarn.magnitude == doctest::Approx(0.1 * std::log(4.0) + 1).epsilon(1e-15));
  c.rope_scaling.attention_factor = 1.5;
  CHECK(rope_frequencies(c).magnitude == 1.5);
  c.rope_scaling = {.kind = Kind::yarn, .factor = 4, .original_max_positions = 32768, .mscale = 1, .mscale_all_dim = 0.5};
  CHECK(rope_frequencies(c).magnitude ==
        doctest::Approx((0.1 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1)).epsilon(1e-15));
}

TEST_CASE("model/families: the list of a family's weights is what its decoder has") {
  for (const std::string& name : Families::names()) {
    CAPTURE(name);
    ModelConfig c;
    c.family = name;
    c.vocab_size = 31;
    c.tie_word_embeddings = false;
    const auto model = make_decoder(c, DType::f32, 1);
    const auto specs = model_weights(c);
    REQUIRE(specs.size() == model->params().all().size());
    Index n = 0;
    for (std::size_t i = 0; const Param& p : model->params().all()) {
      CHECK(p.name == specs[i].name);
      CHECK(p.value.shape() == specs[i++].shape);
      n += p.value.numel();
    }
    CHECK(model_parameter_count(c) == n);
    CHECK(config_json(c, {}).find(Families::find("family", name).architecture) !=
          std::string::npos);
  }
}
