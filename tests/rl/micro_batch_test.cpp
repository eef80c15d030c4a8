// R10: the gradient of a parameter adds tokens in one order, whatever the micro-batches, threads and vectors are.
#include "rl/micro_batch.h"

#include <cmath>
#include <map>
#include <set>

#include "rl/model_support.h"

using namespace minirl;
using namespace minirl::rl;
using namespace minirl::rl::test;

namespace {

// A loss whose derivative differs from token to token and depends on the log-probability itself.
void smooth_gradient(std::size_t s, const SequenceScores& scores, const SequenceSeeds& seeds) {
  for (std::size_t t = 0; t < scores.logp.size(); ++t) {
    seeds.dlogp[t] = 0.01F * static_cast<float>(s + 1) - 0.003F * static_cast<float>(t) + 0.02F * scores.logp[t];
    if (!seeds.dentropy.empty()) { seeds.dentropy[t] = 0.005F * scores.entropy[t]; }
  }
}

/// The bits of every accumulator, before the uses of a tied parameter are added.
std::string gradient_hash(Decoder& model) {
  Hasher h;
  for (Param& p : model.params().all()) {
    h.add(p.name).add(p.grad(0));
    if (model.config().tie_word_embeddings && p.name == "model.embed_tokens.weight") { h.add(p.grad(1)); }
  }
  return h.hex();
}

Index run_tokens(const ScoredSequence& s) { return static_cast<Index>(s.prompt.size() + s.completion.size()) - 1; }

}  // namespace

TEST_CASE("rl/micro_batch: gradients have the same bits for every cut, thread count and instruction set") {
  const TinySequences sequences;
  Index total = 0, longest = 0;
  for (const ScoredSequence& s : sequences.view) {
    total += run_tokens(s);
    longest = std::max(longest, run_tokens(s));
  }
  for (const bool tied : {true, false}) {
    for (const bool entropy : {false, true}) {
      std::string expected;
      std::set<Index> counts;
      for_each_setting([&](const Exec& exec) {
        const auto model = make_decoder(tiny_model(tied), DType::f32, 7);
        for (const Index budget : {total, total - 1, (total + 2) / 2, (total + 4) / 3, longest}) {
          CAPTURE(budget);
          model->params().zero_grads();
          const MicroBatchReport report = accumulate_gradients(*model, exec, sequences.view, {0.9, budget, entropy, 0}, smooth_gradient);
          counts.insert(report.micro_batches);
          CHECK(report.tokens == total);
          CHECK(report.largest_tokens <= budget);
          const std::string got = gradient_hash(*model);
          if (expected.empty()) { expected = got; }
          CHECK(got == expected);
        }
      });
      CHECK(counts.count(1) == 1);
      CHECK(counts.count(2) == 1);
      CHECK(counts.count(3) == 1);
      CHECK(*counts.rbegin() >= 4);
    }
  }
}

TEST_CASE("rl/micro_batch: one call for all sequences is one call a sequence") {
  const TinySequences sequences;
  const auto model = make_decoder(tiny_model(), DType::f32, 7);
  accumulate_gradients(*model, {}, sequences.view, {1.0, 4096, false, 0}, smooth_gradient);
  const std::string expected = gradient_hash(*model);
  model->params().zero_grads();
  for (std::size_t i = 0; i < sequences.view.size(); ++i) {
    accumulate_gradients(*model, {}, std::span(sequences.view).subspan(i, 1), {1.0, 4096, false, 0},
                         [&](std::size_t s, const SequenceScores& scores, const SequenceSeeds& seeds) { smooth_gradient(i + s, scores, seeds); });
  }
  CHECK(gradient_hash(*model) == expected);
}

TEST_CASE("rl/micro_batch: the order of sequences is part of the sum, so the test of cuts can fail") {
  // Two orders of the same addends must show: otherwise equal hashes would prove nothing.
  TinySequences sequences;
  const auto model = make_decoder(tiny_model(), DType::f32, 7);
  const auto constant = [](std::size_t, const SequenceScores&, const SequenceSeeds& seeds) {
    for (float& d : seeds.dlogp) { d = 0.01F; }
  };
  accumulate_gradients(*model, {}, sequences.view, {}, constant);
  const std::string forward = gradient_hash(*model);
  std::reverse(sequences.view.begin(), sequences.view.end());
  model->params().zero_grads();
  accumulate_gradients(*model, {}, sequences.view, {}, constant);
  CHECK(gradient_hash(*model) != forward);
}

TEST_CASE("rl/micro_batch: scores have the bits that the backward pass sees, for every cut and entropy setting") {
  const TinySequences sequences;
  const auto model = make_decoder(tiny_model(), DType::f32, 7);
  std::map<std::size_t, std::vector<float>> seen;
  accumulate_gradients(*model, {}, sequences.view, {0.9, 4096, true, 0},
                       [&](std::size_t s, const SequenceScores& scores, const SequenceSeeds& seeds) {
                         const auto& [logp, entropy, topk_logp] = scores;
                         const auto& [dlogp, dentropy] = seeds;
                         CHECK(topk_logp.empty());
                         CHECK(seen.emplace(s, std::vector<float>(logp.begin(), logp.end())).second);  // each sequence once
                         CHECK(seen.size() == s + 1);                                                 // in order
                         CHECK(logp.size() == sequences.completions[s].size());
                         CHECK(entropy.size() == logp.size());
                         CHECK(dlogp.size() == logp.size());
                         CHECK(dentropy.size() == logp.size());
                         for (const float d : dlogp) { CHECK(d == 0); }
                         for (const float d : dentropy) { CHECK(d == 0); }
                       });
  REQUIRE(seen.size() == sequences.view.size());
  for (const Index budget : {103, 200, 4096}) {
    for (const bool entropy : {false, true}) {
      const auto scores = score_sequences(*model, Exec{.threads = 2}, sequences.view, {0.9, budget, entropy, 0});
      REQUIRE(scores.size() == seen.size());
      for (std::size_t s = 0; s < scores.size(); ++s) {
        REQUIRE(scores[s].logp.size() == seen[s].size());
        CHECK(std::memcmp(scores[s].logp.data(), seen[s].data(), scores[s].logp.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("rl/micro_batch: only completion tokens are scored, each given everything before it") {
  // Scored as one completion after a one-token prompt, the same text gives the same numbers.
  const TinySequences sequences;
  const auto model = make_decoder(tiny_model(), DType::f32, 7);
  const auto scores = score_sequences(*model, {}, sequences.view, {});
  for (std::size_t s = 0; s < sequences.view.size(); ++s) {
    std::vector<Token> rest(sequences.prompts[s].begin() + 1, sequences.prompts[s].end());
    rest.insert(rest.end(), sequences.completions[s].begin(), sequences.completions[s].end());
    const ScoredSequence whole{std::span(sequences.prompts[s]).first(1), rest};
    const auto all = score_sequences(*model, {}, std::span(&whole, 1), {});
    const std::size_t n = sequences.completions[s].size();
    CHECK(std::memcmp(all[0].logp.data() + all[0].logp.size() - n, scores[s].logp.data(), n * sizeof(float)) == 0);
  }
}

TEST_CASE("rl/micro_batch: cuts are greedy, in order, and name the setting when a sequence does not fit") {
  const TinySequences sequences;
  for (const Index budget : {103, 110, 150, 200, 1000}) {
    std::size_t next = 0;
    Index before = 0;
    for (const auto& [begin, end] : cut_micro_batches(sequences.view, budget)) {
      CHECK(begin == next);
      CHECK(end > begin);
      Index tokens = 0;
      for (std::size_t i = begin; i < end; ++i) { tokens += run_tokens(sequences.view[i]); }
      CHECK(tokens <= budget);
      if (begin > 0) { CHECK(before + run_tokens(sequences.view[begin]) > budget); }  // it did not fit in the one before
      before = tokens;
      next = end;
    }
    CHECK(next == sequences.view.size());
  }
  CHECK(cut_micro_batches({}, 10).empty());
  try {
    cut_micro_batches(sequences.view, 95);  // 64 + 33 - 1 tokens
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    CHECK(std::string(e.what()).find("96 tokens") != std::string::npos);
    CHECK(std::string(e.what()).find("tokens_per_micro = 95") != std::string::npos);
  }
}

TEST_CASE("rl/micro_batch: a gradient of zero leaves the accumulators as they are, to the bit") {
  const TinySequences sequences;
  const auto model = make_decoder(tiny_model(), DType::f32, 7);
  accumulate_gradients(*model, {}, sequences.view, {}, smooth_gradient);
  const std::string before = gradient_hash(*model);
  const auto none = [](std::size_t, const SequenceScores&, const SequenceSeeds&) {};
  accumulate_gradients(*model, {}, sequences.view, {}, none);
  CHECK(gradient_hash(*model) == before);
}

TEST_CASE("rl/micro_batch: an empty prompt or completion and an f64 model are refused") {
  const auto model = make_decoder(tiny_model(), DType::f32, 7);
  const std::vector<Token> some = {1, 2};
  const std::vector<Token> none;
  for (const ScoredSequence& s : {ScoredSequence{none, some}, ScoredSequence{some, none}}) {
    CHECK_THROWS_AS(score_sequences(*model, {}, std::span(&s, 1), {}), Error);
  }
  const auto dual = make_decoder(tiny_model(), DType::f64, 7);
  const ScoredSequence good{some, some};
  CHECK_THROWS_WITH_AS(accumulate_gradients(*dual, {}, std::span(&good, 1), {}, smooth_gradient), doctest::Contains("f64"), Error);
}
