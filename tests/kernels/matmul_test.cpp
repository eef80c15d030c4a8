#include "kernels/matmul.h"

#include <Eigen/Dense>

#include "kernels/reference/matmul.h"
#include "tests/kernels/tile_support.h"

using namespace minirl;
using namespace minirl::kernels;
using namespace minirl::testing;
namespace reference = minirl::kernels::base::reference;

namespace {

struct Sizes {
  Index m, n, k;
};
// Around every border of the blocking: lanes (8, 16), tiles (6 rows, 16..128 columns), panels (64),
// blocks (192 rows, 256 columns), chunks of depth (256).
constexpr Sizes kSizes[] = {{1, 1, 1},    {1, 7, 3},     {2, 16, 17},   {3, 33, 8},    {5, 65, 255}, {6, 64, 256},   {7, 63, 257},
                            {12, 129, 5}, {13, 15, 600}, {64, 48, 128}, {97, 31, 130}, {193, 70, 9}, {200, 257, 33}, {390, 18, 65},
                            {400, 64, 130}, {5, 600, 400}, {193, 70, 90}};

struct Products {
  Tensor y, dx, dw;
};

template <class T> Products run(const Exec& exec, const Tensor& x, const Tensor& w, const Tensor& dy, const Tensor& dx, const Tensor& dw) {
  Products p{Tensor::empty({x.shape()[0], w.shape()[0]}, DTypeOf<T>::value), dx.clone(), dw.clone()};
  linear_forward(exec, x, PackedMatrix::forward(exec, w), p.y);
  linear_input_grad(exec, dy, PackedMatrix::input_grad(exec, w), p.dx);
  linear_weight_grad(exec, dy, x, p.dw);
  return p;
}

template <class T> Products plain(const Tensor& x, const Tensor& w, const Tensor& dy, const Tensor& dx, const Tensor& dw) {
  const Index m = x.shape()[0], n = w.shape()[0], k = w.shape()[1];
  Products p{Tensor::empty({m, n}, DTypeOf<T>::value), dx.clone(), dw.clone()};
  reference::matmul_forward(x.data<T>(), w.data<T>(), p.y.template data<T>(), 0, m, n, k);
  reference::matmul_input_grad(dy.data<T>(), w.data<T>(), p.dx.template data<T>(), 0, m, n, k);
  reference::matmul_weight_grad(dy.data<T>(), x.data<T>(), p.dw.template data<T>(), 0, n, m, n, k);
  return p;
}

}  // namespace

TEST_CASE_TEMPLATE("kernels/matmul: every instruction set and thread count gives the bits of the plain loops", T, float, double) {
  for (const Sizes& size : kSizes) {
    const Index m = size.m, n = size.n, k = size.k;
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const Tensor x = noise<T>({m, k}, 1), w = noise<T>({n, k}, 2), dy = noise<T>({m, n}, 3), dx = noise<T>({m, k}, 4), dw = noise<T>({n, k}, 5);
    const Products expected = plain<T>(x, w, dy, dx, dw);
    for (const Isa isa : isas()) {
      const UseIsa use(isa);
      for (const int threads : kThreadCounts) {
        CAPTURE(name(isa));
    CAPTURE(threads);
        const Products got = run<T>(with_threads(threads), x, w, dy, dx, dw);
        CHECK(same_bits(got.y, expected.y));
        CHECK(same_bits(got.dx, expected.dx));
        CHECK(same_bits(got.dw, expected.dw));
      }
    }
  }
}

TEST_CASE("kernels/matmul: a row does not depend on its batch or its place in it") {
  constexpr Index kMost = 450, kOutputs = 200, kInputs = 300;
  const Tensor x = noise<float>({kMost, kInputs}, 11), w = noise<float>({kOutputs, kInputs}, 12), dy = noise<float>({kMost, kOutputs}, 13);
  const Exec exec = with_threads(2);
  const PackedMatrix forward = PackedMatrix::forward(exec, w), input_grad = PackedMatrix::input_grad(exec, w);
  Tensor y = Tensor::empty({kMost, kOutputs}, DType::f32), dx = Tensor::zeros({kMost, kInputs}, DType::f32);
  linear_forward(exec, x, forward, y);
  linear_input_grad(exec, dy, input_grad, dx);
  for (const Index first : {0, 1, 5, 63, 191, 200}) {
    for (const Index rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17, 31, 64, 65, 127, 192, 193, 250}) {
      CAPTURE(first);
    CAPTURE(rows);
      Tensor part = Tensor::empty({rows, kOutputs}, DType::f32), part_dx = Tensor::zeros({rows, kInputs}, DType::f32);
      linear_forward(exec, x.slice(first, first + rows), forward, part);
      linear_input_grad(exec, dy.slice(first, first + rows), input_grad, part_dx);
      CHECK(same_bits(part, y.slice(first, first + rows)));
      CHECK(same_bits(part_dx, dx.slice(first, first + rows)));
    }
  }
}

TEST_CASE("kernels/matmul: cutting a batch into micro-batches changes no bit of dW") {
  constexpr Index kTokens = 700, kOutputs = 70, kInputs = 90;
  const Tensor x = noise<float>({kTokens, kInputs}, 21), dy = noise<float>({kTokens, kOutputs}, 22);
  const Tensor before = noise<float>({kOutputs, kInputs}, 23);
  Tensor whole = before.clone();
  linear_weight_grad(with_threads(1), dy, x, whole);
  const std::vector<std::vector<Index>> cuts = {{0, 1, 700}, {0, 256, 512, 700}, {0, 255, 511, 513, 700}, {0, 3, 10, 350, 351, 699, 700}};
  for (const auto& cut : cuts) {
    for (const int threads : kThreadCounts) {
      Tensor parts = before.clone();
      for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
        linear_weight_grad(with_threads(threads), dy.slice(cut[i], cut[i + 1]), x.slice(cut[i], cut[i + 1]), parts);
      }
      CHECK(same_bits(parts, whole));
    }
  }
}

TEST_CASE_TEMPLATE("kernels/matmul: values agree with Eigen in extended precision", T, float, double) {
  using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  // A chain of d roundings of partial sums that stay below 2 sqrt(d): |error| < d * 2 sqrt(d) * ulp / 2, d = 700.
  constexpr double kTolerance = 700 * 27.0 * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53);
  constexpr Index m = 37, n = 700, k = 513;
  const auto matrix = [](const Tensor& t) {
    Matrix a(t.shape()[0], t.shape()[1]);
    for (Index i = 0; i < t.numel(); ++i) { a.data()[i] = t.data<T>()[i]; }
    return a;
  };
  const Tensor x = noise<T>({m, k}, 31), w = noise<T>({n, k}, 32), dy = noise<T>({m, n}, 33), dx = noise<T>({m, k}, 34), dw = noise<T>({n, k}, 35);
  const Products got = run<T>(with_threads(2), x, w, dy, dx, dw);
  const auto far = [&](const Tensor& t, const Matrix& expected) {
    return static_cast<double>((matrix(t) - expected).cwiseAbs().maxCoeff());
  };
  CHECK(far(got.y, matrix(x) * matrix(w).transpose()) < kTolerance);
  CHECK(far(got.dx, matrix(dx) + matrix(dy) * matrix(w)) < kTolerance);
  CHECK(far(got.dw, matrix(dw) + matrix(dy).transpose() * matrix(x)) < kTolerance);
}

TEST_CASE("kernels/matmul: empty batches and empty sums are exact") {
  const Exec exec = with_threads(2);
  const Tensor w = noise<float>({5, 9}, 41);
  Tensor y = Tensor::empty({0, 5}, DType::f32), dx = Tensor::empty({0, 9}, DType::f32), dw = noise<float>({5, 9}, 42);
  const Tensor before = dw.clone();
  linear_forward(exec, Tensor::empty({0, 9}, DType::f32), PackedMatrix::forward(exec, w), y);
  linear_input_grad(exec, Tensor::empty({0, 5}, DType::f32), PackedMatrix::input_grad(exec, w), dx);
  linear_weight_grad(exec, Tensor::empty({0, 5}, DType::f32), Tensor::empty({0, 9}, DType::f32), dw);
  CHECK(same_bits(dw, before));
  Tensor sums = noise<float>({3, 5}, 43);
  linear_forward(exec, Tensor::empty({3, 0}, DType::f32), PackedMatrix::forward(exec, Tensor::empty({5, 0}, DType::f32)), sums);
  CHECK(same_bits(sums, Tensor::zeros({3, 5}, DType::f32)));
}

TEST_CASE("kernels/matmul: nothing is written outside of the result") {
  const Exec exec = with_threads(1);
  for (const Isa isa : isas()) {
    const UseIsa use(isa);
    const Tensor x = noise<float>({7, 20}, 51), w = noise<float>({19, 20}, 52);
    Tensor guarded = Tensor::zeros({9, 19}, DType::f32);
    Tensor y = guarded.slice(1, 8);
    linear_forward(exec, x, PackedMatrix::forward(exec, w), y);
    for (Index j = 0; j < 19; ++j) {
      CHECK(guarded.data<float>()[j] == 0.0F);
      CHECK(guarded.data<float>()[8 * 19 + j] == 0.0F);
    }
  }
}

TEST_CASE("kernels/matmul: a weight packed under one instruction set serves the others") {
  const Tensor x = noise<float>({9, 40}, 61), w = noise<float>({100, 40}, 62);
  std::vector<Tensor> results;
  for (const Isa packer : isas()) {
    PackedMatrix packed;
    {
      const UseIsa use(packer);
      packed = PackedMatrix::forward(with_threads(1), w);
    }
    for (const Isa user : isas()) {
      const UseIsa use(user);
      results.push_back(Tensor::empty({9, 100}, DType::f32));
      linear_forward(with_threads(1), x, packed, results.back());
      CHECK(same_bits(results.back(), results.front()));
    }
  }
}

TEST_CASE("kernels/matmul: wrong shapes, types and uses are refused") {
  const Exec exec = with_threads(1);
  const Tensor w = noise<float>({5, 9}, 71), x = noise<float>({3, 9}, 72);
  const PackedMatrix forward = PackedMatrix::forward(exec, w);
  Tensor y = Tensor::empty({3, 5}, DType::f32), narrow = Tensor::empty({3, 4}, DType::f32), wide = Tensor::empty({3, 5}, DType::f64);
  CHECK_THROWS_AS(linear_forward(exec, x, forward, narrow), Error);
  CHECK_THROWS_AS(linear_forward(exec, x, forward, wide), Error);
  CHECK_THROWS_AS(linear_forward(exec, x, PackedMatrix(), y), Error);
  CHECK_THROWS_AS(linear_forward(exec, x, PackedMatrix::input_grad(exec, w), y), Error);
  Tensor dx = Tensor::empty({3, 9}, DType::f32);
  CHECK_THROWS_AS(linear_input_grad(exec, y, forward, dx), Error);
}
