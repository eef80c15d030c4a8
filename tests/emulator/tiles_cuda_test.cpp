// Products and attention: the emulated device has the bits of the plain loops and of the CPU.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernels/attention.h"
#include "kernels/matmul.h"
#include "kernels/reference/attention.h"
#include "kernels/reference/matmul.h"
#include "tests/emulator/machine.h"
#include "tests/kernels/tile_support.h"

using namespace minirl;
using namespace minirl::kernels;
using namespace minirl::testing;
namespace reference = minirl::kernels::base::reference;

namespace {

using Floats = std::vector<float>;

Floats values(Index n, std::uint64_t seed, double scale = 1) {
  Noise source(seed);
  Floats v(static_cast<std::size_t>(n));
  for (float& x : v) { x = static_cast<float>(scale * source.next()); }
  return v;
}

struct Products {
  Floats y, dx, dw;
  bool operator==(const Products& o) const { return same_bits(y, o.y) && same_bits(dx, o.dx) && same_bits(dw, o.dw); }
};

struct Sizes {
  Index m, n, k;
};

struct ProductInputs {
  Floats x, w, dy;
  Products before;
  explicit ProductInputs(const Sizes& s)
      : x(values(s.m * s.k, 1)), w(values(s.n * s.k, 2)), dy(values(s.m * s.n, 3)), before{values(s.m * s.n, 4), values(s.m * s.k, 5), values(s.n * s.k, 6)} {}
};

Products plain(const ProductInputs& in, const Sizes& s) {
  Products out = in.before;
  reference::matmul_forward(in.x.data(), in.w.data(), out.y.data(), 0, s.m, s.n, s.k);
  reference::matmul_input_grad(in.dy.data(), in.w.data(), out.dx.data(), 0, s.m, s.n, s.k);
  reference::matmul_weight_grad(in.dy.data(), in.x.data(), out.dw.data(), 0, s.n, s.m, s.n, s.k);
  return out;
}

Products on_cpu(const ProductInputs& in, const Sizes& s) {
  const auto tensor = [](const Floats& v, Shape shape) { return Tensor::from<float>(shape, v); };
  const Tensor x = tensor(in.x, {s.m, s.k}), w = tensor(in.w, {s.n, s.k}), dy = tensor(in.dy, {s.m, s.n});
  Tensor y = tensor(in.before.y, {s.m, s.n}), dx = tensor(in.before.dx, {s.m, s.k}), dw = tensor(in.before.dw, {s.n, s.k});
  linear_forward({}, x, PackedMatrix::forward({}, w), y);
  linear_input_grad({}, dy, w, dx);
  linear_weight_grad({}, dy, x, dw);
  const auto floats = [](const Tensor& t) { return Floats(t.span<float>().begin(), t.span<float>().end()); };
  return {floats(y), floats(dx), floats(dw)};
}

Products on_device(const ProductInputs& in, const Sizes& s) {
  Products out = in.before;
  Machine machine(&emulated_device());
  Backend& device = *machine.backend();
  const float *x = machine.in(in.x), *w = machine.in(in.w), *dy = machine.in(in.dy);
  device.linear_forward(x, w, machine.out(out.y), s.m, s.n, s.k);
  device.linear_input_grad(dy, w, machine.out(out.dx), s.m, s.n, s.k);
  device.linear_weight_grad(dy, x, machine.out(out.dw), s.m, s.n, s.k);
  machine.finish();
  return out;
}

struct Gradients {
  Floats o, lse, dq, dk, dv, pool_k, pool_v;
  bool operator==(const Gradients& other) const {
    return same_bits(o, other.o) && same_bits(lse, other.lse) && same_bits(dq, other.dq) && same_bits(dk, other.dk) && same_bits(dv, other.dv) &&
           same_bits(pool_k, other.pool_k) && same_bits(pool_v, other.pool_v);
  }
};

/// Ragged sequences, the tiles of each in descending order, in a pool full of NaN.
struct Batch {
  AttentionDims dims;
  float scale;
  std::vector<std::vector<int>> tiles;
  std::vector<QueryRun> runs;
  Index rows = 0;
  Floats q, k, v, d_o;
  Gradients before;

  Batch(const AttentionDims& dims_, const std::vector<Index>& lengths) : dims(dims_), scale(1.0F / std::sqrt(static_cast<float>(dims_.head_dim))) {
    int next = 0;
    tiles.resize(lengths.size());
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (Index t = 0; t * kKeyTile < lengths[s]; ++t) { tiles[s].insert(tiles[s].begin(), next++); }
      runs.push_back({rows, lengths[s], 0, tiles[s].data()});
      rows += lengths[s];
    }
    const Index d = dims.head_dim;
    q = values(rows * dims.q_heads * d, 11, 2), k = values(rows * dims.kv_heads * d, 12, 2), v = values(rows * dims.kv_heads * d, 13), d_o = values(rows * dims.q_heads * d, 14);
    const Floats nan(static_cast<std::size_t>(next * dims.kv_heads * d * kKeyTile), std::numeric_limits<float>::quiet_NaN());
    before = {Floats(q.size()), Floats(static_cast<std::size_t>(rows * dims.q_heads)), values(rows * dims.q_heads * d, 15), values(rows * dims.kv_heads * d, 16), values(rows * dims.kv_heads * d, 17), nan, nan};
  }
};

Gradients plain(const Batch& b) {
  Gradients out = b.before;
  const Index d = b.dims.head_dim, width = b.dims.kv_heads * d;
  Floats scratch(static_cast<std::size_t>(d));
  for (const QueryRun& run : b.runs) {
    for (Index i = 0; i < run.rows; ++i) {
      for (Index c = 0; c < width; ++c) {
        const Index at = (run.tiles[i / kKeyTile] * b.dims.kv_heads + c / d) * d * kKeyTile, from = (run.first_row + i) * width + c;
        out.pool_k[static_cast<std::size_t>(at + c % d * kKeyTile + i % kKeyTile)] = b.k[static_cast<std::size_t>(from)];
        out.pool_v[static_cast<std::size_t>(at + i % kKeyTile * d + c % d)] = b.v[static_cast<std::size_t>(from)];
      }
    }
    for (Index g = 0; g < b.dims.kv_heads; ++g) {
      reference::attention_forward<float>({b.dims, b.scale, b.q.data(), out.pool_k.data(), out.pool_v.data(), out.o.data(), out.lse.data(), run, g, nullptr});
      reference::attention_backward<float>({b.dims, b.scale, b.q.data(), b.k.data(), b.v.data(), out.pool_k.data(), out.o.data(), out.lse.data(), b.d_o.data(), out.dq.data(), out.dk.data(), out.dv.data(), run, g, scratch.data()});
    }
  }
  return out;
}

Gradients on_device(const Batch& b) {
  Gradients out = b.before;
  Machine machine(&emulated_device());
  Backend& device = *machine.backend();
  const float *q = machine.in(b.q), *k = machine.in(b.k), *v = machine.in(b.v), *d_o = machine.in(b.d_o);
  float *pool_k = machine.out(out.pool_k), *pool_v = machine.out(out.pool_v), *o = machine.out(out.o), *lse = machine.out(out.lse);
  device.kv_store(b.dims, k, v, b.runs, pool_k, pool_v);
  device.attention_forward({b.dims, b.scale, q, pool_k, pool_v, o, lse, {}, 0, nullptr}, b.runs);
  device.attention_backward({b.dims, b.scale, q, k, v, pool_k, o, lse, d_o, machine.out(out.dq), machine.out(out.dk), machine.out(out.dv), {}, 0, nullptr}, b.runs);
  machine.finish();
  return out;
}

}  // namespace

TEST_CASE("emulator/matmul: the three products have the bits of the plain loops and of the CPU") {
  // Around the sizes of tiles, slices and chunks; few rows and many.
  for (const Sizes& s : {Sizes{1, 1, 1}, Sizes{1, 70, 16}, Sizes{3, 65, 17}, Sizes{16, 64, 256}, Sizes{33, 20, 300}, Sizes{130, 9, 40}, Sizes{5, 257, 513}}) {
    CAPTURE(s.m);
    CAPTURE(s.n);
    CAPTURE(s.k);
    const ProductInputs in(s);
    const Products expected = plain(in, s);
    CHECK(on_cpu(in, s) == expected);
    for (std::uint64_t order = 0; order < kThreadOrders; ++order) {
      const UseOrder use(order);
      CHECK(on_device(in, s) == expected);
    }
  }
}

TEST_CASE("emulator/matmul: no depth gives zeros or leaves the gradient, a negative zero stays one") {
  const Sizes none{3, 5, 0};
  CHECK(on_device(ProductInputs(none), none) == plain(ProductInputs(none), none));
  // A product below the smallest number rounds to -0; an fma with padding would make it +0.
  const Sizes one{1, 1, 1};
  ProductInputs in(one);
  in.x = {1e-30F};
  in.w = {-1e-30F};
  const Products out = on_device(in, one);
  CHECK(std::signbit(out.y[0]));
  CHECK(out == plain(in, one));
}

TEST_CASE("emulator/matmul: a row does not depend on its batch") {
  const Sizes many{40, 30, 300}, one{1, 30, 300};
  const ProductInputs batch(many);
  const Products together = on_device(batch, many);
  for (const Index r : {Index{0}, Index{17}, Index{39}}) {
    ProductInputs alone = batch;
    const auto row = [&](Floats& v, Index width) { v = Floats(v.begin() + r * width, v.begin() + (r + 1) * width); };
    row(alone.x, many.k), row(alone.dy, many.n), row(alone.before.y, many.n), row(alone.before.dx, many.k);
    Products expected = together;
    row(expected.y, many.n), row(expected.dx, many.k);
    const Products got = on_device(alone, one);
    CHECK(same_bits(got.y, expected.y));
    CHECK(same_bits(got.dx, expected.dx));
  }
}

TEST_CASE("emulator/attention: forward, cache and gradients have the bits of the plain loops") {
  for (const AttentionDims& dims : {AttentionDims{1, 1, 16}, AttentionDims{4, 2, 33}, AttentionDims{6, 2, 80}, AttentionDims{2, 2, 130}}) {
    CAPTURE(dims.q_heads);
    CAPTURE(dims.head_dim);
    const Batch batch(dims, {1, 33, 5, 70});
    const Gradients expected = plain(batch);
    for (std::uint64_t order = 0; order < kThreadOrders; ++order) {
      const UseOrder use(order);
      CHECK(on_device(batch) == expected);
    }
  }
}

TEST_CASE("emulator/attention: decoding token by token has the bits of the whole sequence") {
  const Batch batch({4, 2, 20}, {40, 67});
  const Gradients whole = plain(batch);
  Gradients out = batch.before;
  Machine machine(&emulated_device());
  Backend& device = *machine.backend();
  const float *q = machine.in(batch.q), *k = machine.in(batch.k), *v = machine.in(batch.v);
  float *pool_k = machine.out(out.pool_k), *pool_v = machine.out(out.pool_v), *o = machine.out(out.o), *lse = machine.out(out.lse);
  for (Index position = 0; position < 67; ++position) {
    std::vector<QueryRun> step;
    for (const QueryRun& run : batch.runs) {
      if (position < run.rows) { step.push_back({run.first_row + position, 1, position, run.tiles}); }
    }
    device.kv_store(batch.dims, k, v, step, pool_k, pool_v);
    device.attention_forward({batch.dims, batch.scale, q, pool_k, pool_v, o, lse, {}, 0, nullptr}, step);
  }
  machine.finish();
  CHECK(same_bits(out.o, whole.o));
  CHECK(same_bits(out.lse, whole.lse));
}
