// Every row program: the emulated device gives the bits of the CPU (whose values tests/kernels holds to the oracles).
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "kernels/adamw.h"
#include "kernels/bias.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/logit_noise.h"
#include "kernels/logprob.h"
#include "kernels/rmsnorm.h"
#include "kernels/rope.h"
#include "kernels/swiglu.h"
#include "kernels/topk.h"
#include "tests/emulator/machine.h"

using namespace minirl;
using namespace minirl::kernels;
using namespace minirl::testing;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

constexpr Index R = 19, D = 83;              // nothing divides anything
constexpr Index V = 5003, kStride = 5008;    // more than one tile of a long row, and padding behind it

Floats random(Index n, std::uint64_t seed, double scale = 1) {
  rng::Random source(rng::Key::of(seed, rng::Stream::test));
  Floats v(static_cast<std::size_t>(n));
  for (float& x : v) { x = static_cast<float>(scale * source.normal()); }
  return v;
}
/// (R, kStride) logits; what lies behind the vocabulary would win every maximum.
Floats random_logits(std::uint64_t seed, double scale) {
  Floats v = random(R * kStride, seed, scale);
  for (Index r = 0; r < R; ++r) {
    for (Index j = V; j < kStride; ++j) { v[static_cast<std::size_t>(r * kStride + j)] = 1e6F; }
  }
  return v;
}
Floats positive(Index n, std::uint64_t seed) {
  Floats v = random(n, seed);
  for (float& x : v) { x = std::fabs(x) + 0.1F; }
  return v;
}
Ints integers(Index n, std::function<Index(Index)> at) {
  Ints v(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) { v[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(at(i)); }
  return v;
}
std::vector<std::uint16_t> narrow(const Floats& v) {
  std::vector<std::uint16_t> out;
  for (const float x : v) { out.push_back(static_cast<std::uint16_t>(fmath::bits_as<std::uint32_t>(x) >> 16)); }
  return out;
}

/// What a case changed, as bytes.
using Bytes = std::vector<unsigned char>;
template <class... T>
Bytes bytes(const std::vector<T>&... arrays) {
  Bytes all;
  (all.insert(all.end(), reinterpret_cast<const unsigned char*>(arrays.data()), reinterpret_cast<const unsigned char*>(arrays.data() + arrays.size())), ...);
  return all;
}

struct Case {
  const char* name;
  std::function<Bytes(Machine&)> run;
};

const AdamWScalars kAdam{1e-3F, 0.9F, 0.95F, 1e-8F, 0.1F, 10.0F, 20.0F, 0.5F};
constexpr Index kWeights = 2500;  // three blocks, the last one short

template <class Weight, class Moment>
Bytes adamw_stored(Machine& m, std::vector<Weight> w, std::vector<Moment> first, std::vector<Moment> second) {
  const Floats g = random(kWeights, 43);
  m.rows(blocks_of(kWeights), AdamWStored<Weight, Moment>{m.out(w), m.out(first), m.out(second), m.in(g), kWeights, kAdam, rng::Key::of(7, rng::Stream::test)});
  m.finish();
  return bytes(w, first, second);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  list.push_back({"rmsnorm forward", [](Machine& m) {
    const Floats x = random(R * D, 1), w = random(D, 2);
    Floats y(x.size()), s(static_cast<std::size_t>(R));
    m.rows(R, RmsNormForward<float>{m.in(x), m.in(w), m.out(y), m.out(s), D, 1e-6F});
    m.finish();
    return bytes(y, s); }});
  list.push_back({"rmsnorm backward", [](Machine& m) {
    const Floats x = random(R * D, 1), w = random(D, 2), s = positive(R, 3), dy = random(R * D, 4);
    Floats dx = random(R * D, 5), dw = random(D, 6);
    const float *x_at = m.in(x), *s_at = m.in(s), *dy_at = m.in(dy);
    m.rows(R, RmsNormBackward<float>{x_at, m.in(w), s_at, dy_at, m.out(dx), D});
    m.rows((D + kLanes - 1) / kLanes, RmsNormWeightGrad<float>{x_at, s_at, dy_at, m.out(dw), R, D});
    m.finish();
    return bytes(dx, dw); }});
  list.push_back({"bias", [](Machine& m) {
    const Floats b = random(D, 7), dy = random(R * D, 8);
    Floats x = random(R * D, 9), db = random(D, 10);
    m.rows(R, AddBias<float>{m.out(x), m.in(b), D});
    m.rows((D + kLanes - 1) / kLanes, BiasGrad<float>{m.in(dy), m.out(db), R, D});
    m.finish();
    return bytes(x, db); }});
  list.push_back({"rope", [](Machine& m) {
    const Floats cosine = random(9 * 41, 11), sine = random(9 * 41, 12);
    const Ints position = integers(R, [](Index r) { return r % 9; });
    Floats x = random(R * 3 * 82, 13);
    m.rows(R * 3, Rope<float>{m.out(x), m.in(cosine), m.in(sine), m.in(position), 3, 82, -1.0F});
    m.finish();
    return bytes(x); }});
  list.push_back({"swiglu", [](Machine& m) {
    const Floats gate = random(R * D, 14), up = random(R * D, 15), dy = random(R * D, 16);
    Floats y(gate.size()), dgate = random(R * D, 17), dup = random(R * D, 18);
    const float *gate_at = m.in(gate), *up_at = m.in(up);
    m.rows(R, SwigluForward<float>{gate_at, up_at, m.out(y), D});
    m.rows(R, SwigluBackward<float>{gate_at, up_at, m.in(dy), m.out(dgate), m.out(dup), D});
    m.finish();
    return bytes(y, dgate, dup); }});
  list.push_back({"elementwise", [](Machine& m) {
    const Floats a = random(kWeights, 19), b = random(kWeights, 20);
    Floats y(a.size()), sum = random(kWeights, 21);
    const float* a_at = m.in(a);
    m.rows(blocks_of(kWeights), Add<float>{a_at, m.in(b), m.out(y), kWeights});
    m.rows(blocks_of(kWeights), AddInto<float>{a_at, m.out(sum), kWeights});
    m.finish();
    return bytes(y, sum); }});
  list.push_back({"embedding", [](Machine& m) {
    const Floats w = random(11 * D, 22), dy = random(R * D, 23);
    const Ints ids = integers(R, [](Index r) { return r * r % 11; });
    Ints order(static_cast<std::size_t>(R)), begin;
    std::iota(order.begin(), order.end(), 0);
    const auto id = [&](std::int32_t row) { return ids[static_cast<std::size_t>(row)]; };
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return id(a) < id(b); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || id(order[i]) != id(order[i - 1])) { begin.push_back(static_cast<std::int32_t>(i)); }
    }
    const auto segments = static_cast<Index>(begin.size());
    begin.push_back(static_cast<std::int32_t>(R));
    Floats y(dy.size()), dw = random(11 * D, 24);
    const std::int32_t* ids_at = m.in(ids);
    m.rows(R, EmbeddingForward<float>{m.in(w), ids_at, m.out(y), D});
    m.rows(segments, EmbeddingBackward<float>{m.in(dy), m.in(order), m.in(begin), ids_at, m.out(dw), D});
    m.finish();
    return bytes(y, dw); }});
  for (const bool entropy : {false, true}) {
    list.push_back({entropy ? "log-probability with entropy" : "log-probability", [entropy](Machine& m) {
      const Floats g = random(R, 25), dH = random(R, 26);
      const Ints target = integers(R, [](Index r) { return r * 263 % V; });
      Floats logits = random_logits(27, 3), logp(static_cast<std::size_t>(R)), lse = logp, H = logp;
      float *logits_at = m.out(logits), *lse_at = m.out(lse), *H_at = entropy ? m.out(H) : nullptr;
      const std::int32_t* target_at = m.in(target);
      m.rows(R, LogProb<float>{logits_at, target_at, m.out(logp), lse_at, H_at, V, kStride, 1.25F});
      m.rows(R, LogProbBackward<float>{logits_at, target_at, lse_at, H_at, m.in(g), entropy ? m.in(dH) : nullptr, V, kStride, 1.25F});
      m.finish();
      return bytes(logits, logp, lse, H); }});
  }
  for (const bool greedy : {false, true}) {
    list.push_back({greedy ? "greedy token" : "sampled token, noise", [greedy](Machine& m) {
      std::vector<rng::Key> key;
      std::vector<std::uint32_t> position;
      for (Index r = 0; r < R; ++r) {
        key.push_back(rng::Key::of(9, rng::Stream::test).derive(static_cast<std::uint64_t>(r)));
        position.push_back(static_cast<std::uint32_t>(3 * r));
      }
      Floats logits = random_logits(28, 2);
      for (float& x : logits) { x = greedy ? std::round(x) : x; }  // ties
      Ints token(static_cast<std::size_t>(R));
      float* logits_at = m.out(logits);
      const rng::Key* key_at = m.in(key);
      const std::uint32_t* position_at = m.in(position);
      if (!greedy) { m.rows(R, LogitNoise<float>{logits_at, key_at, position_at, V, kStride, 0.3F}); }
      m.rows(R, SampleToken<float>{logits_at, key_at, position_at, m.out(token), V, kStride, 1.5F, greedy});
      m.finish();
      return bytes(logits, token); }});
  }
  list.push_back({"most likely ids", [](Machine& m) {
    constexpr Index K = 5;
    Floats logits = random_logits(29, 2);
    for (float& x : logits) { x = std::round(x * 4) / 4; }  // ties
    const Floats lse = random(R, 30);
    Ints ids(static_cast<std::size_t>(R * K));
    Floats logp(ids.size());
    const float* logits_at = m.in(logits);
    std::int32_t* ids_at = m.out(ids);
    m.rows(R, TopK<float>{logits_at, ids_at, K, V, kStride});
    m.rows(R, GatherLogProb<float>{logits_at, ids_at, m.in(lse), m.out(logp), K, kStride, 0.8F});
    m.finish();
    return bytes(ids, logp); }});
  list.push_back({"adamw", [](Machine& m) {
    const Floats g = random(kWeights, 31);
    Floats w = random(kWeights, 32), first = random(kWeights, 33), second = positive(kWeights, 34);
    m.rows(blocks_of(kWeights), AdamW{m.out(w), m.out(first), m.out(second), m.in(g), kWeights, kAdam});
    m.finish();
    return bytes(w, first, second); }});
  list.push_back({"adamw, all bf16", [](Machine& m) { return adamw_stored(m, narrow(random(kWeights, 40)), narrow(random(kWeights, 41)), narrow(positive(kWeights, 42))); }});
  list.push_back({"adamw, bf16 weights", [](Machine& m) { return adamw_stored(m, narrow(random(kWeights, 40)), random(kWeights, 41), positive(kWeights, 42)); }});
  list.push_back({"adamw, bf16 moments", [](Machine& m) { return adamw_stored(m, random(kWeights, 40), narrow(random(kWeights, 41)), narrow(positive(kWeights, 42))); }});
  list.push_back({"squared norm", [](Machine& m) {
    const Floats g = random(kWeights, 44);
    std::vector<double> partial(static_cast<std::size_t>(blocks_of(kWeights)));
    m.rows(blocks_of(kWeights), SquaredNorm{m.in(g), m.out(partial), kWeights});
    m.finish();
    return bytes(partial); }});
  return list;
}

}  // namespace

TEST_CASE("emulator/rows: every row program has the bits of the CPU, under any order of threads") {
  for (const Case& c : cases()) {
    CAPTURE(std::string(c.name));
    Machine cpu(nullptr);
    const Bytes expected = c.run(cpu);
    CHECK(std::set<unsigned char>(expected.begin(), expected.end()).size() > 10);  // it computed something
    for (std::uint64_t order = 0; order < kThreadOrders; ++order) {
      CAPTURE(order);
      const UseOrder use(order);
      Machine device(&emulated_device());
      CHECK(same_bits(c.run(device), expected));
    }
  }
}

TEST_CASE("emulator/rows: a program that is not compiled for the device is an error with its name") {
  const Add<double> program{nullptr, nullptr, nullptr, 1};
  Machine device(&emulated_device());
  CHECK_THROWS_WITH(device.rows(1, program), doctest::Contains("not compiled for the device"));
}
