#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/reference/attention.h"
#include "tests/kernels/tile_support.h"

using namespace minirl;
using namespace minirl::kernels;
using namespace minirl::testing;
namespace reference = minirl::kernels::base::reference;

namespace {

constexpr AttentionDims kDims[] = {{1, 1, 16}, {2, 1, 32}, {4, 2, 64}, {8, 2, 80}, {3, 3, 128}, {4, 1, 36}, {30, 1, 8}};

/// A ragged batch: sequences one after the other, each with tiles of its own, in a pool full of NaN, so that
/// whatever reads an absent key shows.
template <class T>
struct Batch {
  AttentionDims dims;
  double scale;
  std::vector<Index> lengths;
  std::vector<std::vector<int>> tiles;
  std::vector<QueryRun> runs;
  Tensor q, k, v, d_o;
  KvPool pool;

  Batch(AttentionDims dims_, std::vector<Index> lengths_, std::uint64_t seed) : dims(dims_), scale(1.0 / std::sqrt(static_cast<double>(dims_.head_dim))), lengths(std::move(lengths_)) {
    Index rows = 0;
    int next = 0;
    tiles.resize(lengths.size());
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (Index t = 0; t * kKeyTile < lengths[s]; ++t) { tiles[s].push_back(next++); }
      // Any assignment of tiles must do: reverse it.
      std::reverse(tiles[s].begin(), tiles[s].end());
      runs.push_back({rows, lengths[s], 0, tiles[s].data()});
      rows += lengths[s];
    }
    q = noise<T>({rows, dims.q_heads, dims.head_dim}, seed, 2.0);
    k = noise<T>({rows, dims.kv_heads, dims.head_dim}, seed + 1, 2.0);
    v = noise<T>({rows, dims.kv_heads, dims.head_dim}, seed + 2);
    d_o = noise<T>(q.shape(), seed + 3);
    pool = empty_pool(next);
  }
  KvPool empty_pool(Index count) const {
    KvPool p{Tensor::empty({count, dims.kv_heads, dims.head_dim, kKeyTile}, DTypeOf<T>::value),
             Tensor::empty({count, dims.kv_heads, kKeyTile, dims.head_dim}, DTypeOf<T>::value)};
    for (T& x : p.k.template span<T>()) { x = std::numeric_limits<T>::quiet_NaN(); }
    for (T& x : p.v.template span<T>()) { x = std::numeric_limits<T>::quiet_NaN(); }
    return p;
  }
};

struct Outputs {
  Tensor o, lse, dq, dk, dv;
};

template <class T> Outputs blank(const Batch<T>& b) {
  return {Tensor::zeros(b.q.shape(), DTypeOf<T>::value), Tensor::zeros({b.q.shape()[0], b.dims.q_heads}, DTypeOf<T>::value),
          noise<T>(b.q.shape(), 91), noise<T>(b.k.shape(), 92), noise<T>(b.v.shape(), 93)};
}

template <class T> Outputs run(const Exec& exec, Batch<T>& b) {
  Outputs out = blank(b);
  kv_store(exec, b.dims, b.k, b.v, b.runs, b.pool);
  attention_forward(exec, b.dims, b.scale, b.q, b.runs, b.pool, out.o, &out.lse);
  attention_backward(exec, b.dims, b.scale, b.q, b.k, b.v, b.runs, b.pool, out.o, out.lse, b.d_o, out.dq, out.dk, out.dv);
  return out;
}

template <class T> Outputs plain(Batch<T>& b) {
  Outputs out = blank(b);
  kv_store(with_threads(1), b.dims, b.k, b.v, b.runs, b.pool);
  std::vector<T> scratch(static_cast<std::size_t>(b.dims.head_dim));
  for (const QueryRun& r : b.runs) {
    for (Index g = 0; g < b.dims.kv_heads; ++g) {
      reference::attention_forward<T>({b.dims, static_cast<T>(b.scale), b.q.template data<T>(), b.pool.k.template data<T>(),
                                       b.pool.v.template data<T>(), out.o.template data<T>(), out.lse.template data<T>(), r, g, nullptr});
    }
    for (Index g = 0; g < b.dims.kv_heads; ++g) {
      reference::attention_backward<T>({b.dims, static_cast<T>(b.scale), b.q.template data<T>(), b.k.template data<T>(), b.v.template data<T>(),
                                        b.pool.k.template data<T>(), out.o.template data<T>(), out.lse.template data<T>(), b.d_o.template data<T>(),
                                        out.dq.template data<T>(), out.dk.template data<T>(), out.dv.template data<T>(), r, g, scratch.data()});
    }
  }
  return out;
}

/// Attention as the textbook has it: all scores, one softmax, in long double with the C library.
template <class T> std::vector<double> textbook(const Batch<T>& b) {
  const Index d = b.dims.head_dim, heads = b.dims.q_heads / b.dims.kv_heads;
  std::vector<double> o(static_cast<std::size_t>(b.q.numel()));
  for (const QueryRun& r : b.runs) {
    for (Index i = 0; i < r.rows; ++i) {
      for (Index h = 0; h < b.dims.q_heads; ++h) {
        const T* q = b.q.template data<T>() + ((r.first_row + i) * b.dims.q_heads + h) * d;
        const auto at = [&](const Tensor& t, Index j) { return t.data<T>() + ((r.first_row + j) * b.dims.kv_heads + h / heads) * d; };
        std::vector<long double> s;
        long double most = -1e30L, total = 0;
        for (Index j = 0; j <= i; ++j) {
          long double x = 0;
          for (Index c = 0; c < d; ++c) { x += static_cast<long double>(q[c]) * at(b.k, j)[c]; }
          s.push_back(x * static_cast<T>(b.scale));
          most = std::max(most, s.back());
        }
        for (long double& x : s) { total += x = std::exp(x - most); }
        for (Index c = 0; c < d; ++c) {
          long double sum = 0;
          for (Index j = 0; j <= i; ++j) { sum += s[static_cast<std::size_t>(j)] / total * at(b.v, j)[c]; }
          o[static_cast<std::size_t>(((r.first_row + i) * b.dims.q_heads + h) * d + c)] = static_cast<double>(sum);
        }
      }
    }
  }
  return o;
}


}  // namespace

TEST_CASE_TEMPLATE("kernels/attention: every instruction set and thread count gives the bits of the plain loops", T, float, double) {
  for (const AttentionDims& dims : kDims) {
    CAPTURE(dims.q_heads);
    CAPTURE(dims.head_dim);
    Batch<T> batch(dims, {1, 33, 5, 70, 32, 64, 31}, 100);
    const Outputs expected = plain(batch);
    for (const Isa isa : isas()) {
      const UseIsa use(isa);
      for (const int threads : kThreadCounts) {
        CAPTURE(name(isa));
        CAPTURE(threads);
        const Outputs got = run(with_threads(threads), batch);
        CHECK(same_bits(got.o, expected.o));
        CHECK(same_bits(got.lse, expected.lse));
        CHECK(same_bits(got.dq, expected.dq));
        CHECK(same_bits(got.dk, expected.dk));
        CHECK(same_bits(got.dv, expected.dv));
      }
    }
  }
}

TEST_CASE("kernels/attention: decoding token by token, prefilling in pieces and a ragged batch give the same bits") {
  for (const AttentionDims& dims : {AttentionDims{4, 2, 32}, AttentionDims{4, 1, 64}, AttentionDims{2, 2, 20}}) {
    Batch<float> batch(dims, {40, 131, 64}, 200);
    const Exec exec = with_threads(2);
    const Outputs whole = run(exec, batch);
    // Pieces of these lengths, over and over; 1 is decoding.
    for (const Index piece : {1, 3, 32, 37}) {
      CAPTURE(piece);
      KvPool cache = batch.empty_pool(batch.pool.k.shape()[0]);
      Tensor o = Tensor::zeros(batch.q.shape(), DType::f32), lse = Tensor::zeros({batch.q.shape()[0], dims.q_heads}, DType::f32);
      for (Index done = 0; done < 131; done += piece) {
        std::vector<QueryRun> step;  // all sequences advance together, as in a decoding batch
        for (const QueryRun& r : batch.runs) {
          if (done < r.rows) { step.push_back({r.first_row + done, std::min(piece, r.rows - done), done, r.tiles}); }
        }
        kv_store(exec, dims, batch.k, batch.v, step, cache);
        attention_forward(exec, dims, batch.scale, batch.q, step, cache, o, &lse);
      }
      CHECK(same_bits(o, whole.o));
      CHECK(same_bits(lse, whole.lse));
    }
  }
}

TEST_CASE("kernels/attention: sequences that share the tiles of a prompt get the bits of sequences with copies") {
  const AttentionDims dims{4, 2, 32};
  constexpr Index kPrompt = 64, kAnswer = 20;
  Batch<float> alone(dims, {kPrompt + kAnswer, kPrompt + kAnswer}, 300);
  // The second sequence begins with the first one's prompt.
  for (Tensor* t : {&alone.q, &alone.k, &alone.v}) {
    const std::size_t row = static_cast<std::size_t>(t->numel() / t->shape()[0]);
    float* data = t->data<float>();
    std::copy_n(data, row * kPrompt, data + row * (kPrompt + kAnswer));
  }
  const Exec exec = with_threads(2);
  const Outputs copies = run(exec, alone);
  KvPool pool = alone.empty_pool(4);
  const int first[] = {2, 0, 1}, second[] = {2, 0, 3};
  const std::vector<QueryRun> prompt = {{0, kPrompt, 0, first}};
  const std::vector<QueryRun> answers = {{kPrompt, kAnswer, kPrompt, first}, {2 * kPrompt + kAnswer, kAnswer, kPrompt, second}};
  kv_store(exec, dims, alone.k, alone.v, prompt, pool);
  kv_store(exec, dims, alone.k, alone.v, answers, pool);
  Tensor o = Tensor::zeros(alone.q.shape(), DType::f32);
  attention_forward(exec, dims, alone.scale, alone.q, answers, pool, o, nullptr);
  for (const QueryRun& r : answers) { CHECK(same_bits(o.slice(r.first_row, r.first_row + r.rows), copies.o.slice(r.first_row, r.first_row + r.rows))); }
}

TEST_CASE_TEMPLATE("kernels/attention: values agree with the textbook softmax", T, float, double) {
  // Scores below 2 sqrt(d) * sqrt(d) / 3 carry d roundings, exponentials and sums of up to 150 terms as many more.
  constexpr double kTolerance = 400 * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53);
  for (const AttentionDims& dims : kDims) {
    Batch<T> batch(dims, {150, 1, 40}, 400);
    const Outputs got = run(with_threads(1), batch);
    const std::vector<double> expected = textbook(batch);
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double error = std::abs(static_cast<double>(got.o.data<T>()[i]) - expected[i]);
      worst = error <= worst ? worst : error;  // NaN wins
    }
    CAPTURE(dims.head_dim);
    CHECK(worst < kTolerance);
  }
}

TEST_CASE("kernels/attention: large scores neither overflow nor lose the softmax") {
  Batch<float> batch({1, 1, 16}, {100}, 500);
  batch.scale = 300.0;  // scores in the thousands: almost one-hot
  const Outputs got = run(with_threads(1), batch);
  const std::vector<double> expected = textbook(batch);
  for (std::size_t i = 0; i < expected.size(); ++i) { CHECK(std::abs(static_cast<double>(got.o.data<float>()[i]) - expected[i]) < 1e-2); }
}

TEST_CASE("kernels/attention: the backward is the derivative of the forward") {
  // Central differences in double: truncation h^2/6 |f'''| and rounding 2^-53 |f| / h balance near h = 1e-5.
  constexpr double kStep = 1e-5, kTolerance = 1e-7;
  for (const AttentionDims& dims : {AttentionDims{1, 1, 16}, AttentionDims{4, 2, 8}, AttentionDims{4, 1, 5}}) {
    Batch<double> batch(dims, {35, 3}, 600);
    const Exec exec = with_threads(1);
    Outputs got = blank(batch);
    got.dq.zero(), got.dk.zero(), got.dv.zero();
    kv_store(exec, dims, batch.k, batch.v, batch.runs, batch.pool);
    attention_forward(exec, dims, batch.scale, batch.q, batch.runs, batch.pool, got.o, &got.lse);
    attention_backward(exec, dims, batch.scale, batch.q, batch.k, batch.v, batch.runs, batch.pool, got.o, got.lse, batch.d_o, got.dq, got.dk, got.dv);
    const auto loss = [&] {  // sum of d_o o
      Tensor o = Tensor::zeros(batch.q.shape(), DType::f64);
      kv_store(exec, dims, batch.k, batch.v, batch.runs, batch.pool);
      attention_forward(exec, dims, batch.scale, batch.q, batch.runs, batch.pool, o, nullptr);
      return std::inner_product(o.span<double>().begin(), o.span<double>().end(), batch.d_o.span<double>().begin(), 0.0);
    };
    Noise pick(601);
    const std::pair<Tensor*, const Tensor*> inputs[] = {{&batch.q, &got.dq}, {&batch.k, &got.dk}, {&batch.v, &got.dv}};
    for (const auto& [input, grad] : inputs) {
      for (int trial = 0; trial < 40; ++trial) {
        const Index i = pick.below(input->numel());
        double& x = input->data<double>()[i];
        const double before = x;
        x = before + kStep;
        const double up = loss();
        x = before - kStep;
        const double down = loss();
        x = before;
        const double expected = (up - down) / (2 * kStep), found = grad->data<double>()[i];
        CHECK(std::abs(found - expected) <= kTolerance * std::max(1.0, std::abs(expected)));
      }
    }
  }
}

TEST_CASE("kernels/attention: a sequence does not depend on its neighbours in the batch") {
  const AttentionDims dims{4, 2, 32};
  Batch<float> batch(dims, {50, 77, 20}, 700);
  const Outputs together = run(with_threads(2), batch);
  const Outputs before = blank(batch);
  for (const QueryRun& r : batch.runs) {
    const std::vector<QueryRun> one = {r};
    Outputs alone = blank(batch);
    attention_forward(with_threads(1), dims, batch.scale, batch.q, one, batch.pool, alone.o, &alone.lse);
    attention_backward(with_threads(1), dims, batch.scale, batch.q, batch.k, batch.v, one, batch.pool, alone.o, alone.lse, batch.d_o, alone.dq, alone.dk, alone.dv);
    const Tensor Outputs::*const all[] = {&Outputs::o, &Outputs::lse, &Outputs::dq, &Outputs::dk, &Outputs::dv};
    for (const auto member : all) {
      const Tensor& a = alone.*member;
      CHECK(same_bits(a.slice(r.first_row, r.first_row + r.rows), (together.*member).slice(r.first_row, r.first_row + r.rows)));
      // The other sequences' rows are not touched.
      if (r.first_row > 0) { CHECK(same_bits(a.slice(0, r.first_row), (before.*member).slice(0, r.first_row))); }
    }
  }
}

TEST_CASE_TEMPLATE("kernels/attention: a key is not touched by the queries before it, not even with a factor of zero", T, float, double) {
  // A zero times NaN is NaN, and a zero added to -0 is +0: what is absent must be left out, not multiplied away.
  for (const AttentionDims& dims : {AttentionDims{4, 2, 32}, AttentionDims{3, 1, 20}}) {
    for (const Index last : {5, 31, 32, 40, 70}) {  // the position of the key; its tile has absent keys behind it, too
      Batch<T> batch(dims, {last + 1}, 750);
      const Outputs clean = run(with_threads(1), batch);
      for (Tensor* t : {&batch.k, &batch.v}) {
        Tensor row = t->slice(last, last + 1);
        for (T& x : row.template span<T>()) { x = std::numeric_limits<T>::quiet_NaN(); }
      }
      for (const Isa isa : isas()) {
        const UseIsa use(isa);
        CAPTURE(name(isa));
        CAPTURE(last);
        const Outputs poisoned = run(with_threads(1), batch);
        const Tensor Outputs::*const of_queries[] = {&Outputs::o, &Outputs::lse, &Outputs::dq};
        for (const auto member : of_queries) { CHECK(same_bits((poisoned.*member).slice(0, last), (clean.*member).slice(0, last))); }
        CHECK_FALSE(same_bits(poisoned.o.slice(last, last + 1), clean.o.slice(last, last + 1)));  // its own query sees it
      }
    }
  }
}

TEST_CASE("kernels/attention: wrong shapes, tiles and runs are refused") {
  const AttentionDims dims{4, 2, 32};
  Batch<float> b(dims, {40}, 800);
  const Exec exec = with_threads(1);
  Tensor o = Tensor::zeros(b.q.shape(), DType::f32), lse = Tensor::zeros({40, 4}, DType::f32), narrow = Tensor::zeros({40, 4, 31}, DType::f32);
  CHECK_THROWS_AS(attention_forward(exec, dims, 1, b.q, b.runs, b.pool, narrow, nullptr), Error);
  CHECK_THROWS_AS(attention_forward(exec, {4, 3, 32}, 1, b.q, b.runs, b.pool, o, nullptr), Error);
  const int outside[] = {0, 2};
  const std::vector<QueryRun> bad_tile = {{0, 40, 0, outside}}, bad_rows = {{1, 40, 0, b.tiles[0].data()}}, late = {{0, 30, 10, b.tiles[0].data()}};
  CHECK_THROWS_AS(attention_forward(exec, dims, 1, b.q, bad_tile, b.pool, o, nullptr), Error);
  CHECK_THROWS_AS(attention_forward(exec, dims, 1, b.q, bad_rows, b.pool, o, nullptr), Error);
  Tensor dq = o.clone(), dk = Tensor::zeros(b.k.shape(), DType::f32), dv = dk.clone();
  CHECK_THROWS_AS(attention_backward(exec, dims, 1, b.q, b.k, b.v, late, b.pool, o, lse, o, dq, dk, dv), Error);
}
