// bf16 products: the values of plain loops, and a row that does not depend on its batch, whatever tile that chooses.
#include <doctest/doctest.h>

#include <cmath>

#include "core/dtype.h"
#include "tests/emulator/device_memory.h"
#include "tests/emulator/machine.h"
#include "tests/kernels/tile_support.h"

using namespace minirl;
using namespace minirl::testing;
namespace cuda = minirl::kernels::cuda;
using emulator::DeviceArray;

namespace {

using Bits = std::vector<std::uint16_t>;

Bits values(Index n, std::uint64_t seed) {
  Noise source(seed);
  Bits v(static_cast<std::size_t>(n));
  for (std::uint16_t& x : v) { x = to_bf16(static_cast<float>(source.next())).bits; }
  return v;
}
float value(const Bits& v, Index i) { return to_float(Bf16{v[static_cast<std::size_t>(i)]}); }

/// The chain over the depth in steps of 16, each step summed in fp32 in ascending order: how the emulator rounds.
template <class A, class B>
float chain(float start, Index depth, A a, B b) {
  float sum = start;
  for (Index first = 0; first < depth; first += 16) {
    float step = 0;
    for (Index k = first; k < first + 16; ++k) { step += k < depth ? a(k) * b(k) : 0.0F; }
    sum += step;
  }
  return sum;
}

struct Sizes {
  Index m, n, k;
};

Bits forward(const Bits& x, const Bits& w, const Sizes& s) {
  const DeviceArray<std::uint16_t> device_x(x), device_w(w), y(static_cast<std::size_t>(s.m * s.n));
  cuda::bf16_linear_forward(device_x.get(), device_w.get(), y.get(), s.m, s.n, s.k, nullptr);
  return y.host();
}
Bits input_grad(const Bits& dy, const Bits& w, const Sizes& s) {
  const DeviceArray<std::uint16_t> device_dy(dy), device_w(w), dx(static_cast<std::size_t>(s.m * s.k));
  cuda::bf16_linear_input_grad(device_dy.get(), device_w.get(), dx.get(), s.m, s.n, s.k, nullptr);
  return dx.host();
}

// One of each choice of tile, and sizes that fill none.
constexpr Sizes kSizes[] = {{1, 8, 8}, {5, 72, 40}, {16, 64, 32}, {70, 24, 56}, {260, 136, 24}};

}  // namespace

TEST_CASE("emulator/bf16: the three products have the values of plain loops, under any order of threads") {
  for (const Sizes& s : kSizes) {
    CAPTURE(s.m);
    const Bits x = values(s.m * s.k, 1), w = values(s.n * s.k, 2), dy = values(s.m * s.n, 3);
    Bits y(static_cast<std::size_t>(s.m * s.n)), dx(static_cast<std::size_t>(s.m * s.k));
    for (Index i = 0; i < s.m * s.n; ++i) {
      const Index m = i / s.n, n = i % s.n;
      y[static_cast<std::size_t>(i)] = to_bf16(chain(0, s.k, [&](Index k) { return value(x, m * s.k + k); }, [&](Index k) { return value(w, n * s.k + k); })).bits;
    }
    for (Index i = 0; i < s.m * s.k; ++i) {
      const Index m = i / s.k, k = i % s.k;
      dx[static_cast<std::size_t>(i)] = to_bf16(chain(0, s.n, [&](Index n) { return value(dy, m * s.n + n); }, [&](Index n) { return value(w, n * s.k + k); })).bits;
    }
    Noise source(4);
    std::vector<float> before(static_cast<std::size_t>(s.n * s.k)), dw;
    for (float& g : before) { g = static_cast<float>(source.next()); }
    for (Index i = 0; i < s.n * s.k; ++i) {
      const Index n = i / s.k, k = i % s.k;
      dw.push_back(chain(before[static_cast<std::size_t>(i)], s.m, [&](Index m) { return value(dy, m * s.n + n); }, [&](Index m) { return value(x, m * s.k + k); }));
    }
    for (std::uint64_t order = 0; order < 2; ++order) {
      const UseOrder use(order);
      CHECK(same_bits(forward(x, w, s), y));
      CHECK(same_bits(input_grad(dy, w, s), dx));
      const DeviceArray<std::uint16_t> device_dy(dy), device_x(x);
      const DeviceArray<float> device_dw(before);
      cuda::bf16_linear_weight_grad(device_dy.get(), device_x.get(), device_dw.get(), s.m, s.n, s.k, nullptr);
      CHECK(same_bits(device_dw.host(), dw));
    }
  }
}

TEST_CASE("emulator/bf16: a row has the same bits alone and in batches of every tile") {
  const Sizes all{270, 72, 48};
  const Bits x = values(all.m * all.k, 5), w = values(all.n * all.k, 6), dy = values(all.m * all.n, 7);
  const Bits y = forward(x, w, all), dx = input_grad(dy, w, all);
  for (const Index rows : {1, 16, 17, 100}) {
    CAPTURE(rows);
    const Sizes part{rows, all.n, all.k};
    const auto first = [&](const Bits& v, Index width) { return Bits(v.begin() + 3 * width, v.begin() + (3 + rows) * width); };
    CHECK(same_bits(forward(first(x, all.k), w, part), first(y, all.n)));
    CHECK(same_bits(input_grad(first(dy, all.n), w, part), first(dx, all.k)));
  }
}

TEST_CASE("emulator/bf16: sizes that the copies cannot serve are refused") {
  const Bits x = values(100, 8);
  const DeviceArray<std::uint16_t> at(x);
  CHECK_THROWS_WITH(cuda::bf16_linear_forward(at.get(), at.get(), at.get(), 2, 8, 12, nullptr), doctest::Contains("multiples of 8"));
}
