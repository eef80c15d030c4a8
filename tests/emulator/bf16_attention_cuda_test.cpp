// bf16 attention: near the textbook softmax, and the same bits however the queries come.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/dtype.h"
#include "tests/emulator/device_memory.h"
#include "tests/emulator/machine.h"
#include "tests/kernels/tile_support.h"

using namespace minirl;
using namespace minirl::testing;
namespace cuda = minirl::kernels::cuda;
using emulator::DeviceArray;
using kernels::AttentionDims;

namespace {

using Bits = std::vector<std::uint16_t>;

float value(const Bits& v, Index i) { return to_float(Bf16{v[static_cast<std::size_t>(i)]}); }

Bits values(Index n, std::uint64_t seed) {
  Noise source(seed);
  Bits v(static_cast<std::size_t>(n));
  for (std::uint16_t& x : v) { x = to_bf16(static_cast<float>(2 * source.next())).bits; }
  return v;
}

/// One sequence whose tiles lie in the pool in descending order; slots behind its end hold NaN.
struct Sequence {
  AttentionDims dims;
  Index length;
  Bits q, k, v, pool_k, pool_v;
  std::vector<std::int32_t> tiles;

  Sequence(const AttentionDims& dims_, Index length_) : dims(dims_), length(length_) {
    const Index d = dims.head_dim, width = dims.kv_heads * d;
    q = values(length * dims.q_heads * d, 1), k = values(length * width, 2), v = values(length * width, 3);
    const Index count = (length + cuda::kBf16KeyTile - 1) / cuda::kBf16KeyTile;
    for (Index t = count; t-- > 0;) { tiles.push_back(static_cast<std::int32_t>(t)); }
    pool_k.assign(static_cast<std::size_t>(count * cuda::kBf16KeyTile * width), 0xffff);
    pool_v = pool_k;
    for (Index p = 0; p < length; ++p) {
      for (Index c = 0; c < width; ++c) {
        const Index at = ((tiles[static_cast<std::size_t>(p / cuda::kBf16KeyTile)] * dims.kv_heads + c / d) * cuda::kBf16KeyTile + p % cuda::kBf16KeyTile) * d + c % d;
        pool_k[static_cast<std::size_t>(at)] = k[static_cast<std::size_t>(p * width + c)];
        pool_v[static_cast<std::size_t>(at)] = v[static_cast<std::size_t>(p * width + c)];
      }
    }
  }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(dims.head_dim)); }
};

struct Result {
  Bits o;
  std::vector<float> lse;
  bool operator==(const Result& r) const { return same_bits(o, r.o) && same_bits(lse, r.lse); }
};

/// The whole sequence in pieces of so many rows.
Result attend(const Sequence& s, Index piece) {
  const DeviceArray<std::uint16_t> q(s.q), k(s.pool_k), v(s.pool_v), o(s.q.size());
  const DeviceArray<float> lse(static_cast<std::size_t>(s.length * s.dims.q_heads));
  const DeviceArray<std::int32_t> tiles(s.tiles);
  const auto heads = static_cast<std::int32_t>(s.dims.q_heads / s.dims.kv_heads);
  for (Index first = 0; first < s.length; first += piece) {
    const auto row = static_cast<std::int32_t>(first), rows = static_cast<std::int32_t>(std::min(piece, s.length - first));
    std::vector<cuda::AttentionItem> items;
    for (std::int32_t i = 0; i < rows * heads; i += cuda::kBf16Queries) { items.push_back({row, rows, row, 0, i, std::min(i + cuda::kBf16Queries, rows * heads)}); }
    const DeviceArray<cuda::AttentionItem> at(items);
    cuda::bf16_attention_forward(s.dims, s.scale(), q.get(), k.get(), v.get(), o.get(), lse.get(), at.get(), static_cast<Index>(items.size()), tiles.get(), nullptr);
  }
  return {o.host(), lse.host()};
}

}  // namespace

TEST_CASE("emulator/bf16_attention: values agree with the textbook softmax") {
  constexpr double kTolerance = 0.02;  // probabilities and outputs of up to 2 are rounded to 8 bits
  for (const AttentionDims& dims : {AttentionDims{2, 1, 32}, AttentionDims{3, 1, 64}, AttentionDims{2, 2, 128}}) {
    CAPTURE(dims.head_dim);
    const Sequence s(dims, 70);
    const Result got = attend(s, s.length);
    const Index d = dims.head_dim, heads = dims.q_heads / dims.kv_heads;
    double worst = 0, worst_lse = 0;
    for (Index row = 0; row < s.length; ++row) {
      for (Index h = 0; h < dims.q_heads; ++h) {
        std::vector<double> p;
        double total = 0;
        for (Index j = 0; j <= row; ++j) {
          double x = 0;
          for (Index c = 0; c < d; ++c) { x += static_cast<double>(value(s.q, (row * dims.q_heads + h) * d + c)) * static_cast<double>(value(s.k, (j * dims.kv_heads + h / heads) * d + c)); }
          p.push_back(std::exp(x * static_cast<double>(s.scale())));
          total += p.back();
        }
        worst_lse = std::max(worst_lse, std::abs(std::log(total) - static_cast<double>(got.lse[static_cast<std::size_t>(row * dims.q_heads + h)])));
        for (Index c = 0; c < d; ++c) {
          double o = 0;
          for (Index j = 0; j <= row; ++j) { o += p[static_cast<std::size_t>(j)] / total * static_cast<double>(value(s.v, (j * dims.kv_heads + h / heads) * d + c)); }
          const double error = std::abs(o - static_cast<double>(value(got.o, (row * dims.q_heads + h) * d + c)));
          worst = error <= worst ? worst : error;  // NaN wins
        }
      }
    }
    CHECK(worst < kTolerance);
    CHECK(worst_lse < 1e-4);
  }
}

TEST_CASE("emulator/bf16_attention: decoding, pieces and the whole sequence have the same bits, under any order of threads") {
  const Sequence s({4, 2, 32}, 131);
  const Result whole = attend(s, s.length);
  for (std::uint64_t order = 0; order < 2; ++order) {
    const UseOrder use(order);
    for (const Index piece : {Index{1}, Index{37}, s.length}) {
      CAPTURE(piece);
      CHECK(attend(s, piece) == whole);
    }
  }
}
