// Rows of the table beyond the tokenizer's ids (Qwen3 has 151,936 rows for 151,669 ids) are padding: never
// sampled, no part of any probability, in sampling, in the loss and in its gradient alike.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "model/tiny.h"

namespace minirl {
namespace {

using namespace minirl::test;

constexpr Index kIds = 40;  // of the 53 rows of tiny_config()

/// An untied model whose padded rows would win every draw: they are its other rows, many times larger.
std::unique_ptr<Decoder> loud_padding() {
  auto model = make_decoder(tiny_config(false), DType::f32, 3);
  Tensor& head = model->params().find("lm_head.weight")->value;
  const Index width = head.shape()[1];
  for (Index r = kIds; r < head.shape()[0]; ++r) {
    for (Index i = 0; i < width; ++i) {
      head.data<float>()[r * width + i] = 50 * head.data<float>()[(r - kIds) * width + i];
    }
  }
  model->params().touch();
  return model;
}

struct Trained {
  std::vector<float> logp, entropy;
};

Trained trained(Decoder& model, std::span<const Token> ids, Index vocabulary) {
  Tape tape(true, {});
  const std::span<const Token> input = ids.first(ids.size() - 1);
  const Ragged batch = pack_sequences(std::span(&input, 1), {});
  std::vector<std::int32_t> rows(input.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<std::int32_t>(i);
  }
  const auto n = static_cast<Index>(rows.size());
  const Tensor out = model
                         .token_logp({tape, nullptr}, batch, Tensor::from<std::int32_t>({n}, rows),
                                     Tensor::from<std::int32_t>({n}, ids.subspan(1)),
                                     {0.9, true, vocabulary, 0})
                         .value;
  const float* data = out.data<float>();
  return {{data, data + n}, {data + n, data + 2 * n}};
}

}  // namespace

TEST_CASE("model/padded_vocabulary: padding is never sampled, and both sides agree to the bit without it") {
  const auto model = loud_padding();
  SampleRequest request{random_tokens(9, 1, kIds), {}};
  for (std::uint64_t i = 0; i < 20; ++i) {
    request.keys.push_back(rng::Key::of(4, rng::Stream::test).derive(i));
  }
  SamplerOptions options;
  options.temperature = 0.9;
  options.max_new_tokens = 30;
  options.vocabulary = kIds;
  const auto drawn = sample(*model, std::span(&request, 1), options, {.threads = 2});
  for (const Completion& c : drawn[0]) {
    for (const Token t : c.ids) {
      CHECK(t < kIds);
    }
    std::vector<Token> all = request.prompt;
    all.insert(all.end(), c.ids.begin(), c.ids.end());
    const Trained again = trained(*model, all, kIds);
    CHECK(same_bits(std::span(again.logp).subspan(request.prompt.size() - 1), c.logp));
  }
  options.vocabulary = 0;  // the test can fail: without the bound, padding is drawn nearly always
  Index padding = 0;
  const auto unbounded = sample(*model, std::span(&request, 1), options, {});
  for (const Completion& c : unbounded[0]) {
    for (const Token t : c.ids) {
      padding += t >= kIds ? 1 : 0;
    }
  }
  CHECK(padding > 300);
  options.vocabulary = kIds;
  options.greedy = true;
  const auto greedy = sample(*model, std::span(&request, 1), options, {});
  for (const Completion& c : greedy[0]) {
    for (const Token t : c.ids) {
      CHECK(t < kIds);
    }
  }
}

TEST_CASE("model/padded_vocabulary: what the padded rows hold changes no probability, entropy or gradient") {
  const auto loud = loud_padding();
  const auto silent = make_decoder(tiny_config(false), DType::f32, 3);
  const auto ids = random_tokens(30, 2, kIds);
  const Trained a = trained(*loud, ids, kIds), b = trained(*silent, ids, kIds);
  CHECK(same_bits(a.logp, b.logp));
  CHECK(same_bits(a.entropy, b.entropy));
  double total = 0;  // the probabilities of the ids that exist sum to 1
  for (Token t = 0; t < kIds; ++t) {
    const std::vector<Token> two = {ids[0], t};
    total += std::exp(static_cast<double>(trained(*loud, two, kIds).logp[0]));
  }
  CHECK(total == doctest::Approx(1).epsilon(1e-5));
  Tape tape(true, {});
  const std::span<const Token> input(ids);
  const Tensor row = Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{5});
  const Var out = loud->token_logp({tape, nullptr}, pack_sequences(std::span(&input, 1), {}), row, row,
                                   {0.9, false, kIds, 0});
  tape.backward(out, Tensor::from<float>({1, 1}, std::vector<float>{1}));
  const Tensor& grad = loud->params().find("lm_head.weight")->grad();
  const Index width = grad.shape()[1];
  for (Index i = 0; i < grad.numel(); ++i) {
    if (i / width >= kIds) {
      CHECK(grad.data<float>()[i] == 0);
    }
  }
  CHECK_THROWS_AS(trained(*loud, std::vector<Token>{1, kIds}, kIds), Error);
}

}  // namespace minirl
