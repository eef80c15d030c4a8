// The promise of one forward: what the sampler records is, bit for bit, what training computes.
#include "model/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "model/tiny.h"

using namespace minirl;
using namespace minirl::test;

namespace {

std::vector<SampleRequest> requests(std::uint64_t seed = 5) {
  std::vector<SampleRequest> out;
  const auto key = rng::Key::of(seed, rng::Stream::rollout);
  std::uint64_t prompt = 0;
  for (const Index length : {1, 7, 40, 33, 32, 65, 2}) {  // around the key tile of 32
    SampleRequest r{random_tokens(length, 100 + static_cast<std::uint64_t>(length)), {}};
    for (std::uint64_t s = 0; s < 3 + prompt % 3; ++s) { r.keys.push_back(key.derive(prompt, s)); }
    out.push_back(std::move(r));
    ++prompt;
  }
  return out;
}

SamplerOptions options() {
  SamplerOptions o;
  o.max_new_tokens = 40;
  o.max_batch = 5;
  o.temperature = 0.9;
  o.stop_ids = {0, 1};
  return o;
}

bool equal(const std::vector<std::vector<Completion>>& a, const std::vector<std::vector<Completion>>& b) {
  if (a.size() != b.size()) { return false; }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) { return false; }
    for (std::size_t j = 0; j < a[i].size(); ++j) {
      if (a[i][j].ids != b[i][j].ids || !same_bits(a[i][j].logp, b[i][j].logp) || a[i][j].stopped != b[i][j].stopped) { return false; }
    }
  }
  return true;
}

}  // namespace

TEST_CASE("model/sampler: recorded log mu equals the training forward bit for bit, stop token included") {
  for (const bool tied : {true, false}) {
    const auto model = make_decoder(tiny_config(tied), DType::f32, 3);
    const auto reqs = requests();
    const auto out = sample(*model, reqs, options(), {});
    Index stopped = 0, cut = 0;
    for (std::size_t i = 0; i < reqs.size(); ++i) {
      for (const Completion& c : out[i]) {
        std::vector<Token> whole = reqs[i].prompt;
        whole.insert(whole.end(), c.ids.begin(), c.ids.end());
        const auto logp = training_logp(*model, whole, {}, 0.9);
        CHECK(same_bits(std::span(logp).last(c.ids.size()), c.logp));
        (c.stopped ? stopped : cut) += 1;
        if (c.stopped) { CHECK(c.ids.back() <= 1); }
        for (std::size_t t = 0; t + 1 < c.ids.size(); ++t) { CHECK(c.ids[t] > 1); }
      }
    }
    CHECK(stopped > 0);
    CHECK(cut > 0);
  }
}

TEST_CASE("model/sampler: completions do not depend on slots, request order, threads or instruction set") {
  const auto model = make_decoder(tiny_config(), DType::f32, 3);
  const auto reqs = requests();
  const auto expected = sample(*model, reqs, options(), {});
  const Isa before = active_isa();
  for (const Index slots : {1, 2, 8, 64}) {
    SamplerOptions o = options();
    o.max_batch = slots;
    CAPTURE(slots);
    CHECK(equal(sample(*model, reqs, o, {}), expected));
  }
  for (const int threads : {2, 3, 5}) { CHECK(equal(sample(*model, reqs, options(), Exec{.threads = threads}), expected)); }
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) { continue; }
    set_isa(isa);
    model->params().touch();
    CAPTURE(name(isa));
    CHECK(equal(sample(*model, reqs, options(), {}), expected));
  }
  set_isa(before);
  auto reversed = reqs;
  std::reverse(reversed.begin(), reversed.end());
  auto out = sample(*model, reversed, options(), {});
  std::reverse(out.begin(), out.end());
  CHECK(equal(out, expected));
  for (std::size_t i = 0; i < reqs.size(); ++i) {  // alone, sample by sample: no shared prompt at all
    for (std::size_t j = 0; j < reqs[i].keys.size(); ++j) {
      const SampleRequest one{reqs[i].prompt, {reqs[i].keys[j]}};
      CHECK(equal(sample(*model, std::span(&one, 1), options(), {}), {{expected[i][j]}}));
    }
  }
}

TEST_CASE("model/sampler: other keys give other completions; greedy needs no key; limits hold") {
  const auto model = make_decoder(tiny_config(), DType::f32, 3);
  const auto a = sample(*model, requests(5), options(), {});
  const auto b = sample(*model, requests(6), options(), {});
  CHECK_FALSE(equal(a, b));
  std::set<std::vector<Token>> distinct;
  for (const Completion& c : a[2]) { distinct.insert(c.ids); }
  CHECK(distinct.size() == a[2].size());
  SamplerOptions greedy = options();
  greedy.greedy = true;
  CHECK(equal(sample(*model, requests(5), greedy, {}), sample(*model, requests(6), greedy, {})));
  SamplerOptions few = options();
  few.vocabulary = 20;
  for (const auto& group : sample(*model, requests(5), few, {})) {
    for (const Completion& c : group) {
      for (const Token t : c.ids) { CHECK(t < 20); }
    }
  }
  CHECK(sample(*model, {}, options(), {}).empty());
  const SampleRequest none{{3, 4}, {}};
  CHECK(sample(*model, std::span(&none, 1), options(), {})[0].empty());
}

TEST_CASE("model/sampler: the empirical distribution of the first token is the policy (chi-squared)") {
  const auto model = make_decoder(tiny_config(), DType::f32, 3);
  SampleRequest r{random_tokens(6, 1), {}};
  constexpr std::uint64_t kDraws = 20000;
  for (std::uint64_t i = 0; i < kDraws; ++i) { r.keys.push_back(rng::Key::of(11, rng::Stream::test).derive(i)); }
  SamplerOptions o;
  o.max_new_tokens = 1;
  o.max_batch = 256;
  const auto out = sample(*model, std::span(&r, 1), o, {});
  std::vector<double> count(53);
  std::vector<double> p(53);
  for (const Completion& c : out[0]) {
    count[static_cast<std::size_t>(c.ids[0])] += 1;
    p[static_cast<std::size_t>(c.ids[0])] = std::exp(static_cast<double>(c.logp[0]));
  }
  double chi2 = 0, freedom = -1, rest = 0, rest_p = 1;
  for (std::size_t v = 0; v < 53; ++v) {
    if (p[v] * kDraws < 10) { rest += count[v]; continue; }
    rest_p -= p[v];
    chi2 += (count[v] - kDraws * p[v]) * (count[v] - kDraws * p[v]) / (kDraws * p[v]);
    freedom += 1;
  }
  chi2 += (rest - kDraws * rest_p) * (rest - kDraws * rest_p) / (kDraws * rest_p);
  freedom += 1;
  CAPTURE(chi2);
  CAPTURE(freedom);
  CHECK(chi2 < freedom + 4 * std::sqrt(2 * freedom));
}

TEST_CASE("model/sampler: a cache gives its tiles back") {
  const ModelConfig c = tiny_config();
  KvCache cache(c, 8, DType::f32, {});
  KvCache::Sequence prefix;
  cache.extend(prefix, 40);
  CHECK(cache.tiles_in_use() == 2);
  auto a = cache.fork(prefix);
  auto b = cache.fork(prefix);
  CHECK(cache.tiles_in_use() == 4);  // the full tile is shared, the partial one copied twice
  CHECK(a.tiles[0] == b.tiles[0]);
  CHECK(a.tiles[1] != b.tiles[1]);
  cache.release(prefix);
  CHECK(cache.tiles_in_use() == 3);
  cache.release(a);
  cache.release(b);
  CHECK(cache.tiles_in_use() == 0);
  KvCache::Sequence large;
  CHECK_THROWS_AS(cache.extend(large, 9 * 32), Error);
}
