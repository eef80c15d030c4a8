#include "core/rng.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace rng = minirl::rng;

TEST_CASE("core/rng: Philox 4x32-10 gives the published known answers") {
  const auto zero = rng::philox({{0, 0, 0, 0}}, {{0, 0}});
  CHECK(zero.w[0] == 0x6627e8d5U);
  CHECK(zero.w[1] == 0xe169c58dU);
  CHECK(zero.w[2] == 0xbc57ac4cU);
  CHECK(zero.w[3] == 0x9b00dbd8U);
  const auto ones = rng::philox({{~0U, ~0U, ~0U, ~0U}}, {{~0U, ~0U}});
  CHECK(ones.w[0] == 0x408f276dU);
  CHECK(ones.w[1] == 0x41c83b0eU);
  CHECK(ones.w[2] == 0xa20bc7c6U);
  CHECK(ones.w[3] == 0x6d5451fdU);
  const auto pi = rng::philox({{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}}, {{0xa4093822U, 0x299f31d0U}});
  CHECK(pi.w[0] == 0xd16cfe09U);
  CHECK(pi.w[1] == 0x94fdccebU);
  CHECK(pi.w[2] == 0x5001e420U);
  CHECK(pi.w[3] == 0x24126ea1U);
}

TEST_CASE("core/rng: -log u keeps its relative precision at both ends") {
  constexpr double kRelative = 3e-7;  // two float roundings
  for (const std::uint32_t w : {0U, 1U, 77U, 0x40000000U, 0xb4ffffffU, 0xb5000000U, 0xc0000000U, 0xfffffff0U, 0xffffffffU}) {
    const long double u = (static_cast<long double>(w) + 0.5L) / 4294967296.0L;
    const long double exact = w >= 0x80000000U ? -std::log1p(-(static_cast<long double>(~w) + 0.5L) / 4294967296.0L) : -std::log(u);
    CAPTURE(w);
    CHECK(std::fabs(static_cast<double>(rng::neg_log_uniform(w) / exact - 1)) < kRelative);
  }
}

TEST_CASE("core/rng: Gumbel-max samples a softmax (chi-squared on 200,000 draws)") {
  const std::vector<double> logit = {0.0, 1.0, -1.0, 2.0, 0.5};
  double norm = 0;
  for (const double z : logit) { norm += std::exp(z); }
  const auto key = rng::Key::of(7, rng::Stream::test);
  constexpr int kDraws = 200000;
  std::vector<int> count(logit.size());
  for (std::uint32_t t = 0; t < kDraws; ++t) {
    std::size_t best = 0;
    float top = -1e30F;
    for (std::size_t v = 0; v < logit.size(); ++v) {
      const float g = static_cast<float>(logit[v]) + rng::gumbel(key.words(static_cast<std::uint32_t>(v) / 4, t).w[v % 4]);
      if (g > top) { top = g, best = v; }
    }
    ++count[best];
  }
  double chi2 = 0;
  for (std::size_t v = 0; v < logit.size(); ++v) {
    const double expected = kDraws * std::exp(logit[v]) / norm;
    chi2 += (count[v] - expected) * (count[v] - expected) / expected;
  }
  CHECK(chi2 < 18.5);  // 99.9% of chi-squared with 4 degrees of freedom
}

TEST_CASE("core/rng: streams, derived keys and positions differ; equal keys agree") {
  const auto a = rng::Key::of(1, rng::Stream::rollout);
  CHECK(a.words(0).w[0] == rng::Key::of(1, rng::Stream::rollout).words(0).w[0]);
  CHECK(a.words(0).w[0] != rng::Key::of(2, rng::Stream::rollout).words(0).w[0]);
  CHECK(a.words(0).w[0] != rng::Key::of(1, rng::Stream::data).words(0).w[0]);
  CHECK(a.derive(3).words(0).w[0] != a.derive(4).words(0).w[0]);
  CHECK(a.derive(0, 1).words(0).w[0] != a.derive(1, 0).words(0).w[0]);
  CHECK(a.words(0, 1).w[0] != a.words(1, 0).w[0]);
}

TEST_CASE("core/rng: whole numbers in a range are unbiased and reach both ends") {
  rng::Random random(rng::Key::of(3, rng::Stream::test));
  std::vector<int> count(7);
  for (int i = 0; i < 70000; ++i) { ++count[static_cast<std::size_t>(random.range(-3, 3) + 3)]; }
  for (const int c : count) { CHECK(std::abs(c - 10000) < 400); }
}
