#include "model/decoder.h"

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "model/tiny.h"

using namespace minirl;
using namespace minirl::test;

namespace {

Tensor ints(const std::vector<std::int32_t>& v) { return Tensor::from<std::int32_t>({static_cast<Index>(v.size())}, v); }

}  // namespace

TEST_CASE("model/decoder: the gradient of every parameter of the whole model agrees with fp64 differences") {
  constexpr double kTolerance = 1e-7;
  for (const bool tied : {true, false}) {
    ModelConfig c = tiny_config(tied);
    c.vocab_size = 11;
    c.hidden_size = 8;
    c.ffn_size = 10;
    c.head_dim = 4;
    const auto model = make_decoder(c, DType::f64, 1);
    const std::vector<Token> a = random_tokens(35, 1, 11), b = random_tokens(3, 2, 11);
    const std::vector<std::span<const Token>> sequences = {a, b};
    const Ragged batch = pack_sequences(sequences, {});
    const Tensor rows = ints({3, 33, 34, 35, 37}), targets = ints({1, 10, 0, 4, 4});
    std::vector<Param*> params;
    for (Param& p : model->params().all()) { params.push_back(&p); }
    const auto result = gradcheck(
        [&](Tape& tape, std::span<const Var>) {
          model->params().touch();
          return model->token_logp({tape, nullptr}, batch, rows, targets, {0.8, true, 0, 2});
        },
        {}, params, {}, {.step = 2e-4, .max_coordinates = 40});
    CAPTURE(result.where);
    CAPTURE(result.analytic);
    CAPTURE(result.numeric);
    CHECK(result.worst < kTolerance);
    CHECK(result.coordinates > 400);
  }
}

TEST_CASE("model/decoder: f32 and f64 models agree") {
  constexpr double kTolerance = 2e-5;  // float rounding through two layers
  const auto single = make_decoder(tiny_config(), DType::f32, 4);
  const auto dual = make_decoder(tiny_config(), DType::f64, 4);
  const auto ids = random_tokens(50, 9);
  const auto logp = training_logp(*single, ids, {});
  Tape tape(false, {});
  const std::span<const Token> input = std::span(ids).first(49);
  std::vector<std::int32_t> rows(49);
  for (int i = 0; i < 49; ++i) { rows[static_cast<std::size_t>(i)] = i; }
  const Tensor out = dual->token_logp({tape, nullptr}, pack_sequences(std::span(&input, 1), {}), ints(rows), ints({ids.begin() + 1, ids.end()}), {}).value;
  for (Index i = 0; i < 49; ++i) { CHECK(std::abs(out.data<double>()[i] - static_cast<double>(logp[static_cast<std::size_t>(i)])) < kTolerance); }
}

TEST_CASE("model/decoder: a sequence has the same bits alone and in any ragged batch") {
  const auto model = make_decoder(tiny_config(), DType::f32, 4);
  const auto a = random_tokens(45, 1), b = random_tokens(7, 2), c = random_tokens(70, 3);
  const auto hidden = [&](const std::vector<std::span<const Token>>& sequences, std::size_t which, int threads) {
    const Exec exec{.threads = threads};
    Tape tape(false, exec);
    const Ragged batch = pack_sequences(sequences, exec);
    const Tensor h = model->hidden({tape, nullptr}, batch).value.slice(batch.first_row[which], batch.first_row[which + 1]);
    return std::vector<float>(h.data<float>(), h.data<float>() + h.numel());
  };
  const auto alone = hidden({b}, 0, 1);
  CHECK(same_bits(hidden({a, b, c}, 1, 1), alone));
  CHECK(same_bits(hidden({c, a, a, b}, 3, 2), alone));
  CHECK(same_bits(hidden({b, c}, 0, 3), alone));
  const auto prefix = hidden({std::span(a).first(20)}, 0, 1);  // causality: a prefix does not see what follows
  const auto full = hidden({a}, 0, 1);
  CHECK(same_bits(std::span(full).first(prefix.size()), prefix));
}

TEST_CASE("model/decoder: parameters have the published names; tied models have no lm_head") {
  const auto model = make_decoder(tiny_config(true), DType::f32, 1);
  for (const char* name : {"model.embed_tokens.weight", "model.layers.1.self_attn.q_norm.weight", "model.layers.0.mlp.gate_proj.weight",
                           "model.layers.0.post_attention_layernorm.weight", "model.norm.weight"}) {
    CHECK(model->params().find(name) != nullptr);
  }
  CHECK(model->params().find("lm_head.weight") == nullptr);
  CHECK(make_decoder(tiny_config(false), DType::f32, 1)->params().find("lm_head.weight") != nullptr);
  CHECK(model->params().find("model.layers.0.self_attn.q_proj.weight")->value.shape() == Shape{32, 24});
  CHECK(model->params().hash() == make_decoder(tiny_config(true), DType::f32, 1)->params().hash());
  CHECK(model->params().hash() != make_decoder(tiny_config(true), DType::f32, 2)->params().hash());
}

TEST_CASE("model/decoder: impossible shapes and unknown families are the user's errors") {
  ModelConfig c = tiny_config();
  c.num_kv_heads = 3;
  CHECK_THROWS_WITH_AS(make_decoder(c, DType::f32, 1), doctest::Contains("num_kv_heads"), Error);
  c = tiny_config();
  c.head_dim = 7;
  CHECK_THROWS_WITH_AS(make_decoder(c, DType::f32, 1), doctest::Contains("head_dim"), Error);
  c = tiny_config();
  c.family = "qwen33";
  CHECK_THROWS_WITH_AS(make_decoder(c, DType::f32, 1), doctest::Contains("did you mean 'qwen3'"), Error);
}
