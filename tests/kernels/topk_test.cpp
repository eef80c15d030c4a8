// The K most likely ids and their log-probabilities, and the noise of the mismatch dial.
#include "kernels/topk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/rng.h"
#include "kernels/logit_noise.h"
#include "kernels/logprob.h"

using namespace minirl;
using namespace minirl::kernels;

namespace {

constexpr Index R = 23, V = 301, kStride = 305;

std::vector<float> logits_of(std::uint64_t seed, bool coarse) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  std::vector<float> out(static_cast<std::size_t>(R * kStride));
  for (float& x : out) {
    x = static_cast<float>(random.normal() * 3);
    if (coarse) { x = std::round(x); }  // many ties
  }
  for (Index r = 0; r < R; ++r) {
    for (Index j = V; j < kStride; ++j) { out[static_cast<std::size_t>(r * kStride + j)] = 1e6F; }  // padding of the head
  }
  return out;
}

template <class Body>
void everywhere(Body body) {
  const Isa before = active_isa();
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) { continue; }
    set_isa(isa);
    for (const int threads : {1, 3}) { body(Exec{.threads = threads}); }
  }
  set_isa(before);
}

}  // namespace

TEST_CASE("kernels/topk: the K largest in order, ties to the lower id, padding never, on every width") {
  for (const bool coarse : {false, true}) {
    const std::vector<float> logits = logits_of(5, coarse);
    for (const Index K : {Index{1}, Index{4}, Index{20}, V}) {
      everywhere([&](const Exec& exec) {
        std::vector<std::int32_t> ids(static_cast<std::size_t>(R * K));
        for_rows(exec, R, V * K, TopK<float>{logits.data(), ids.data(), K, V, kStride});
        for (Index r = 0; r < R; ++r) {
          std::vector<std::int32_t> order(static_cast<std::size_t>(V));
          std::iota(order.begin(), order.end(), 0);
          const float* row = logits.data() + r * kStride;
          std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
          CHECK(std::equal(order.begin(), order.begin() + K, ids.begin() + r * K));
        }
      });
    }
  }
}

TEST_CASE("kernels/topk: gathered log-probabilities have the bits of the program that scores one token") {
  const std::vector<float> logits = logits_of(6, false);
  constexpr Index K = 7;
  const float scale = 1.0F / 0.7F;
  everywhere([&](const Exec& exec) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(R * K));
    for_rows(exec, R, V * K, TopK<float>{logits.data(), ids.data(), K, V, kStride});
    std::vector<std::int32_t> first(static_cast<std::size_t>(R));
    std::vector<float> lse(static_cast<std::size_t>(R));
    std::vector<float> logp(static_cast<std::size_t>(R));
    std::vector<float> gathered(static_cast<std::size_t>(R * K));
    for (Index k = 0; k < K; ++k) {
      for (Index r = 0; r < R; ++r) { first[static_cast<std::size_t>(r)] = ids[static_cast<std::size_t>(r * K + k)]; }
      for_rows(exec, R, V, LogProb<float>{logits.data(), first.data(), logp.data(), lse.data(), nullptr, V, kStride, scale});
      for_rows(exec, R, K, GatherLogProb<float>{logits.data(), ids.data(), lse.data(), gathered.data(), K, kStride, scale});
      for (Index r = 0; r < R; ++r) { CHECK(gathered[static_cast<std::size_t>(r * K + k)] == logp[static_cast<std::size_t>(r)]); }
    }
  });
}

TEST_CASE("kernels/logit_noise: standard normal, a function of key, position and id alone, the same on every width") {
  constexpr Index kRows = 200;
  std::vector<float> first;
  everywhere([&](const Exec& exec) {
    std::vector<float> logits(static_cast<std::size_t>(kRows * V), 0.0F);
    std::vector<rng::Key> keys;
    std::vector<std::uint32_t> positions;
    for (Index r = 0; r < kRows; ++r) {
      keys.push_back(rng::Key::of(static_cast<std::uint64_t>(r / 2), rng::Stream::test));
      positions.push_back(static_cast<std::uint32_t>(r % 2));
    }
    for_rows(exec, kRows, V * 64, LogitNoise<float>{logits.data(), keys.data(), positions.data(), V, V, 1.0F});
    if (first.empty()) { first = logits; }
    CHECK(first == logits);
  });
  double sum = 0;
  double squares = 0;
  double cubes = 0;
  double fourth = 0;
  for (const float x : first) {
    const auto v = static_cast<double>(x);
    sum += v;
    squares += v * v;
    cubes += v * v * v;
    fourth += v * v * v * v;
  }
  const auto n = static_cast<double>(first.size());
  CHECK(std::fabs(sum / n) < 4 / std::sqrt(n));
  CHECK(std::fabs(squares / n - 1) < 4 * std::sqrt(2 / n));
  CHECK(std::fabs(cubes / n) < 4 * std::sqrt(15 / n));
  CHECK(std::fabs(fourth / n - 3) < 4 * std::sqrt(96 / n));
  CHECK(std::equal(first.begin(), first.begin() + V, first.begin() + V) == false);  // positions differ
}
