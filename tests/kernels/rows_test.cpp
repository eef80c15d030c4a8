// The row programs: values against the plain loops, and the exactness claims of R2 and R3: a row does
// not depend on the other rows, on the thread count or on the instruction set.
#include "kernels/rows.h"

#include <doctest/doctest.h>

#include <complex>
#include <cstring>
#include <functional>
#include <set>

#include "core/rng.h"
#include "kernels/adamw.h"
#include "kernels/embedding.h"
#include "kernels/logprob.h"
#include "kernels/reference/rows.h"
#include "kernels/rmsnorm.h"
#include "kernels/rope.h"
#include "kernels/swiglu.h"

using namespace minirl;
using namespace minirl::kernels;

namespace {

std::vector<float> random_floats(Index n, std::uint64_t seed, double scale = 1) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) { x = static_cast<float>(scale * random.normal()); }
  return v;
}
std::vector<double> wide(const std::vector<float>& v) { return {v.begin(), v.end()}; }

constexpr Index R = 67, D = 83, V = 301;  // nothing divides anything

// A case computes `width` output numbers for each of the rows [begin, end).
struct Case {
  const char* name;
  Index width;
  std::function<std::vector<float>(const Exec&, Index begin, Index end)> run;
};

std::vector<Case> cases() {
  static const auto x = random_floats(R * D, 1), w = random_floats(D, 2), dy = random_floats(R * D, 3), u = random_floats(R * D, 4);
  static const auto s = [] {
    auto v = random_floats(R, 5);
    for (float& e : v) { e = std::fabs(e) + 0.1F; }
    return v;
  }();
  static const auto logits = random_floats(R * V, 6, 3.0), g = random_floats(R, 7), dH = random_floats(R, 8);
  static std::vector<std::int32_t> id(static_cast<std::size_t>(R)), position(static_cast<std::size_t>(R));
  static std::vector<std::uint32_t> draw(static_cast<std::size_t>(R));
  static std::vector<rng::Key> key;
  if (key.empty()) {
    for (Index r = 0; r < R; ++r) {
      const auto i = static_cast<std::size_t>(r);
      id[i] = static_cast<std::int32_t>(r * 29 % V);
      position[i] = static_cast<std::int32_t>(r % 9);
      draw[i] = static_cast<std::uint32_t>(r);
      key.push_back(rng::Key::of(9, rng::Stream::test).derive(static_cast<std::uint64_t>(r)));
    }
  }
  static const auto cosine = random_floats(9 * 41, 10), sine = random_floats(9 * 41, 11);
  std::vector<Case> list;
  list.push_back({"rmsnorm forward", D + 1, [](const Exec& e, Index b, Index n) {
    std::vector<float> y(static_cast<std::size_t>((n - b) * D)), inv(static_cast<std::size_t>(n - b)), out;
    for_rows(e, n - b, D, RmsNormForward<float>{x.data() + b * D, w.data(), y.data(), inv.data(), D, 1e-6F});
    for (Index r = 0; r < n - b; ++r) { out.insert(out.end(), y.begin() + r * D, y.begin() + (r + 1) * D), out.push_back(inv[static_cast<std::size_t>(r)]); }
    return out; }});
  list.push_back({"rmsnorm backward", D, [](const Exec& e, Index b, Index n) {
    std::vector<float> dx(static_cast<std::size_t>((n - b) * D), 0.5F);
    for_rows(e, n - b, D, RmsNormBackward<float>{x.data() + b * D, w.data(), s.data() + b, dy.data() + b * D, dx.data(), D});
    return dx; }});
  list.push_back({"rope", 82, [](const Exec& e, Index b, Index n) {
    std::vector<float> y(x.begin() + b * 82, x.begin() + n * 82);
    for_rows(e, n - b, D, Rope<float>{y.data(), cosine.data(), sine.data(), position.data() + b, 1, 82, 1.0F});
    return y; }});
  list.push_back({"swiglu forward", D, [](const Exec& e, Index b, Index n) {
    std::vector<float> y(static_cast<std::size_t>((n - b) * D));
    for_rows(e, n - b, D, SwigluForward<float>{x.data() + b * D, u.data() + b * D, y.data(), D});
    return y; }});
  list.push_back({"swiglu backward", 2 * D, [](const Exec& e, Index b, Index n) {
    std::vector<float> dg(static_cast<std::size_t>((n - b) * D), 0.25F), du = dg, out;
    for_rows(e, n - b, D, SwigluBackward<float>{x.data() + b * D, u.data() + b * D, dy.data() + b * D, dg.data(), du.data(), D});
    for (Index r = 0; r < n - b; ++r) {
      out.insert(out.end(), dg.begin() + r * D, dg.begin() + (r + 1) * D);
      out.insert(out.end(), du.begin() + r * D, du.begin() + (r + 1) * D);
    }
    return out; }});
  list.push_back({"embedding forward", D, [](const Exec& e, Index b, Index n) {
    std::vector<float> y(static_cast<std::size_t>((n - b) * D));
    for_rows(e, n - b, D, EmbeddingForward<float>{x.data(), position.data() + b, y.data(), D});
    return y; }});
  list.push_back({"logprob", 3, [](const Exec& e, Index b, Index n) {
    std::vector<float> lp(static_cast<std::size_t>(n - b)), lse = lp, h = lp, out;
    for_rows(e, n - b, V, LogProb<float>{logits.data() + b * V, id.data() + b, lp.data(), lse.data(), h.data(), V, V, 1.25F});
    for (std::size_t r = 0; r < lp.size(); ++r) { out.insert(out.end(), {lp[r], lse[r], h[r]}); }
    return out; }});
  list.push_back({"logprob backward", V, [](const Exec& e, Index b, Index n) {
    std::vector<float> lp(static_cast<std::size_t>(n - b)), lse = lp, h = lp, z(logits.begin() + b * V, logits.begin() + n * V);
    for_rows(e, n - b, V, LogProb<float>{z.data(), id.data() + b, lp.data(), lse.data(), h.data(), V, V, 1.25F});
    for_rows(e, n - b, V, LogProbBackward<float>{z.data(), id.data() + b, lse.data(), h.data(), g.data() + b, dH.data() + b, V, V, 1.25F});
    return z; }});
  list.push_back({"sample", 1, [](const Exec& e, Index b, Index n) {
    std::vector<std::int32_t> token(static_cast<std::size_t>(n - b));
    for_rows(e, n - b, V, SampleToken<float>{logits.data() + b * V, key.data() + b, draw.data() + b, token.data(), V, V, 1.0F, false});
    return std::vector<float>(token.begin(), token.end()); }});
  return list;
}

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0; }

std::vector<Isa> machine_isas() {
  std::vector<Isa> out;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa <= best_isa()) { out.push_back(isa); }
  }
  return out;
}

}  // namespace

TEST_CASE("kernels/rows: a row does not depend on its batch, its place, the threads or the instruction set") {
  const Isa before = active_isa();
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    set_isa(before);
    const auto whole = c.run(Exec{}, 0, R);
    CHECK(std::set<float>(whole.begin(), whole.end()).size() > 10);  // it computed something
    for (const Isa isa : machine_isas()) {
      set_isa(isa);
      CAPTURE(name(isa));
      for (const int threads : {1, 2, 3, 5}) {
        CAPTURE(threads);
        CHECK(equal_bits(c.run(Exec{.threads = threads}, 0, R), whole));
      }
      for (const auto& range : {std::pair<Index, Index>{0, 1}, {R - 1, R}, {5, 6}, {3, 20}, {31, 64}}) {
        const Index b = range.first;
        const Index e = range.second;
        CAPTURE(b);
        CHECK(equal_bits(c.run(Exec{}, b, e), {whole.begin() + b * c.width, whole.begin() + e * c.width}));
      }
    }
  }
  set_isa(before);
}

TEST_CASE("kernels/rows: sums add lane by lane and then by the tree 16-8-4-2-1") {
  // 100 items: lane l adds items l, l+32, l+64, l+96; written out here once more, independently.
  const auto item = random_floats(100, 20);
  float lane[32] = {};
  for (int l = 0; l < 32; ++l) {
    for (int i = l; i < 100; i += 32) { lane[l] = lane[l] + item[static_cast<std::size_t>(i)]; }
  }
  for (int h = 16; h >= 1; h /= 2) {
    for (int l = 0; l < h; ++l) { lane[l] = lane[l] + lane[l + h]; }
  }
  const base::CpuRow<float> row;
  CHECK(row.sum(100, [&](Index i) { return item[static_cast<std::size_t>(i)]; }) == lane[0]);
  CHECK(row.sum(0, [&](Index) { return 1.0F; }) == 0.0F);
}

TEST_CASE("kernels/rows: values and complex-step gradients agree with the plain loops") {
  constexpr double kTolerance = 2e-6;  // a few float roundings, relative to values of order one
  using C = std::complex<double>;
  const double h = 1e-30;
  const auto x = random_floats(3 * D, 31), w = random_floats(D, 32), dy = random_floats(3 * D, 33), u = random_floats(3 * D, 34);
  std::vector<float> y(x.size()), s(3), dx(x.size()), dw(w.size()), dg(x.size()), du(x.size());
  for_rows({}, 3, D, RmsNormForward<float>{x.data(), w.data(), y.data(), s.data(), D, 1e-6F});
  const auto expected = reference::rmsnorm(wide(x), wide(w), 1e-6);
  for (std::size_t i = 0; i < y.size(); ++i) { CHECK(std::fabs(static_cast<double>(y[i]) - expected[i]) < kTolerance * (1 + std::fabs(expected[i]))); }
  for_rows({}, 3, D, RmsNormBackward<float>{x.data(), w.data(), s.data(), dy.data(), dx.data(), D});
  for_rows({}, (D + 31) / 32, D, RmsNormWeightGrad<float>{x.data(), s.data(), dy.data(), dw.data(), 3, D});
  const auto dot = [&](const std::vector<C>& out) {
    double total = 0;
    for (std::size_t i = 0; i < out.size(); ++i) { total += static_cast<double>(dy[i]) * out[i].imag() / h; }
    return total;
  };
  for (std::size_t i = 0; i < x.size(); i += 7) {
    std::vector<C> xc(x.begin(), x.end()), wc(w.begin(), w.end());
    xc[i] += C(0, h);
    CHECK(std::fabs(dot(reference::rmsnorm(xc, wc, 1e-6)) - static_cast<double>(dx[i])) < 5 * kTolerance);
  }
  for (std::size_t i = 0; i < w.size(); i += 5) {
    std::vector<C> xc(x.begin(), x.end()), wc(w.begin(), w.end());
    wc[i] += C(0, h);
    CHECK(std::fabs(dot(reference::rmsnorm(xc, wc, 1e-6)) - static_cast<double>(dw[i])) < 5 * kTolerance);
  }
  for_rows({}, 3, D, SwigluForward<float>{x.data(), u.data(), y.data(), D});
  for_rows({}, 3, D, SwigluBackward<float>{x.data(), u.data(), dy.data(), dg.data(), du.data(), D});
  const auto swiglu = reference::swiglu(wide(x), wide(u));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::fabs(static_cast<double>(y[i]) - swiglu[i]) < kTolerance * (1 + std::fabs(swiglu[i])));
    std::vector<C> gc{C(static_cast<double>(x[i]), h)}, uc{C(static_cast<double>(u[i]), 0)};
    CHECK(std::fabs(static_cast<double>(dy[i]) * reference::swiglu(gc, uc)[0].imag() / h - static_cast<double>(dg[i])) < 5 * kTolerance);
    CHECK(std::fabs(static_cast<double>(dy[i]) * reference::swiglu(std::vector<double>{static_cast<double>(x[i])}, std::vector<double>{1.0})[0] - static_cast<double>(du[i])) < 5 * kTolerance);
  }
}

TEST_CASE("kernels/rows: log-probability, entropy and their gradient agree with the plain loops") {
  constexpr double kTolerance = 4e-6;  // 301 terms of exp, each within an ulp
  using C = std::complex<double>;
  const auto logits = random_floats(V, 40, 3.0);
  const std::int32_t target = 17;
  float lp = 0, lse = 0, H = 0, g = 0.7F, dH = -0.3F;
  auto z = logits;
  for_rows({}, 1, V, LogProb<float>{z.data(), &target, &lp, &lse, &H, V, V, 1.0F / 0.8F});
  const auto expected = reference::logprob(wide(logits), 17, 0.8);
  CHECK(std::fabs(static_cast<double>(lp) - expected.logp) < kTolerance * std::fabs(expected.logp));
  CHECK(std::fabs(static_cast<double>(H) - expected.entropy) < kTolerance * (1 + std::fabs(expected.entropy)));
  for_rows({}, 1, V, LogProbBackward<float>{z.data(), &target, &lse, &H, &g, &dH, V, V, 1.0F / 0.8F});
  for (std::size_t j = 0; j < z.size(); j += 3) {
    std::vector<C> zc(logits.begin(), logits.end());
    zc[j] += C(0, 1e-30);
    const auto d = reference::logprob(zc, 17, 0.8);
    CHECK(std::fabs(0.7 * d.logp.imag() / 1e-30 - 0.3 * d.entropy.imag() / 1e-30 - static_cast<double>(z[j])) < kTolerance);
  }
}

TEST_CASE("kernels/rows: AdamW follows the published update for a hundred steps; decay is decoupled") {
  constexpr double kTolerance = 1e-5;  // float state against double over 100 steps
  const Index n = 1500;
  auto w = random_floats(n, 50);
  std::vector<float> m(w.size()), v(w.size());
  std::vector<reference::AdamState> state;
  for (const float x : w) { state.push_back({static_cast<double>(x), 0, 0}); }
  for (int t = 1; t <= 100; ++t) {
    const auto g = random_floats(n, 100 + static_cast<std::uint64_t>(t));
    const float c1 = static_cast<float>(1 / (1 - std::pow(0.9, t))), c2 = static_cast<float>(1 / (1 - std::pow(0.95, t)));
    for_rows({}, blocks_of(n), kBlock, AdamW{w.data(), m.data(), v.data(), g.data(), n, {1e-3F, 0.9F, 0.95F, 1e-8F, 0.1F, c1, c2, 0.5F}});
    for (std::size_t i = 0; i < w.size(); ++i) { state[i] = reference::adamw(state[i], 0.5 * static_cast<double>(g[i]), 1e-3, 0.9, 0.95, 1e-8, 0.1, t); }
  }
  for (std::size_t i = 0; i < w.size(); ++i) { CHECK(std::fabs(static_cast<double>(w[i]) - state[i].w) < kTolerance); }
}

TEST_CASE("kernels/rows: embedding backward adds tokens in ascending order") {
  // 1 + 2^-24 - 1: the order of the three additions decides the result.
  const float dy[] = {1.0F, 5.0F, 5.9604645e-8F, -1.0F};
  const std::int32_t ids[] = {1, 0, 1, 1}, order[] = {1, 0, 2, 3}, begin[] = {0, 1, 4};
  float dw[2] = {};
  for_rows({}, 2, 1, EmbeddingBackward<float>{dy, order, begin, ids, dw, 1});
  CHECK(dw[0] == 5.0F);
  CHECK(dw[1] == (1.0F + 5.9604645e-8F) - 1.0F);
}

TEST_CASE("kernels/rows: sampling takes the arg max of logits plus keyed noise, ties to the lower id") {
  const float flat[] = {0.0F, 2.0F, 2.0F, 1.0F};
  const rng::Key key = rng::Key::of(1, rng::Stream::test);
  const std::uint32_t position = 4;
  std::int32_t token = -1;
  for_rows({}, 1, 4, SampleToken<float>{flat, &key, &position, &token, 4, 4, 1.0F, true});
  CHECK(token == 1);
  const auto logits = random_floats(V, 60);
  for_rows({}, 1, V, SampleToken<float>{logits.data(), &key, &position, &token, V, V, 2.0F, false});
  std::size_t best = 0;
  float top = -1e30F;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const float score = logits[j] * 2.0F + rng::gumbel(key.words(static_cast<std::uint32_t>(j / 4), 4).w[j % 4]);
    if (score > top) { top = score, best = j; }
  }
  CHECK(token == static_cast<std::int32_t>(best));
}
