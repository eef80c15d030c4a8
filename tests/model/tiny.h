// tests/model/tiny.h -- a small random Qwen3 for tests.
#pragma once
#include <cstring>
#include <vector>

#include "core/rng.h"
#include "model/decoder.h"
#include "model/sampler.h"

namespace minirl::test {

inline ModelConfig tiny_config(bool tied = true) {
  ModelConfig c;
  c.vocab_size = 53;
  c.hidden_size = 24;
  c.num_layers = 2;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  c.head_dim = 8;  // not hidden_size / num_heads
  c.ffn_size = 40;
  c.rope_theta = 1e4;
  c.tie_word_embeddings = tied;
  c.max_positions = 512;
  c.initializer_range = 0.3;  // large, so that the distributions are far from uniform
  return c;
}

inline std::vector<Token> random_tokens(Index n, std::uint64_t seed, Index vocabulary = 53) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  std::vector<Token> ids;
  for (Index i = 0; i < n; ++i) { ids.push_back(static_cast<Token>(random.below(static_cast<std::uint64_t>(vocabulary)))); }
  return ids;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// log pi of every token of `ids` after the first, computed as training does.
inline std::vector<float> training_logp(Decoder& model, std::span<const Token> ids, const Exec& exec, double temperature = 1) {
  Tape tape(true, exec);
  const std::span<const Token> input = ids.first(ids.size() - 1);
  const Ragged batch = pack_sequences(std::span(&input, 1), exec);
  std::vector<std::int32_t> rows(input.size());
  for (std::size_t i = 0; i < rows.size(); ++i) { rows[i] = static_cast<std::int32_t>(i); }
  const auto n = static_cast<Index>(rows.size());
  const Tensor out = model.token_logp({tape, nullptr}, batch, Tensor::from<std::int32_t>({n}, rows),
                                      Tensor::from<std::int32_t>({n}, ids.subspan(1)), {temperature, false, 0, 0}).value;
  return {out.data<float>(), out.data<float>() + n};
}

}  // namespace minirl::test
