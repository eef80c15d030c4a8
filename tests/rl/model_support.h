// tests/rl/model_support.h -- a tiny model, sequences and settings for the tests of training.
#pragma once
#include <doctest/doctest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/rng.h"
#include "model/decoder.h"
#include "rl/micro_batch.h"

namespace minirl::rl::test {

inline ModelConfig tiny_model(bool tied = true) {
  ModelConfig c;
  c.vocab_size = 53;
  c.hidden_size = 24;
  c.num_layers = 2;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  c.head_dim = 8;
  c.ffn_size = 40;
  c.rope_theta = 1e4;
  c.tie_word_embeddings = tied;
  c.max_positions = 512;
  c.initializer_range = 0.3;
  return c;
}

/// Prompts and completions of many lengths around the key tile of 32, 1 token included.
struct TinySequences {
  std::vector<std::vector<Token>> prompts, completions;
  std::vector<ScoredSequence> view;

  explicit TinySequences(std::uint64_t seed = 1, Index vocabulary = 53) {
    rng::Random random(rng::Key::of(seed, rng::Stream::test));
    const auto draw = [&](int n) {
      std::vector<Token> ids;
      for (int i = 0; i < n; ++i) { ids.push_back(static_cast<Token>(random.below(static_cast<std::uint64_t>(vocabulary)))); }
      return ids;
    };
    for (const auto& [prompt, completion] : {std::pair{1, 1}, {5, 30}, {33, 7}, {2, 70}, {20, 12}, {31, 2}, {64, 33}, {3, 1}, {9, 23}}) {
      prompts.push_back(draw(prompt));
      completions.push_back(draw(completion));
    }
    for (std::size_t i = 0; i < prompts.size(); ++i) { view.push_back({prompts[i], completions[i]}); }
  }
};

/// Runs the body with every instruction set of this machine and 1, 2, 3 and 5 threads.
template <class Body>
void for_each_setting(Body body) {
  struct Restore {
    Isa before = active_isa();
    ~Restore() { set_isa(before); }
  } restore;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) { continue; }
    set_isa(isa);
    for (const int threads : {1, 2, 3, 5}) {
      CAPTURE(name(isa));
      CAPTURE(threads);
      body(Exec{.threads = threads});
    }
  }
}

}  // namespace minirl::rl::test
