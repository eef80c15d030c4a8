// The three products of a linear layer in fp32, in the orders of docs/math/matmul.md: the bits of the CPU.
// As there, all three are C (rows, columns) with a depth to sum over. A block computes a tile of C; the
// depth passes through shared memory in slices, each in one of two buffers, so that a slice is fetched while the one
// before it is used. An element of C belongs to one thread, which walks the depth in order: tiles, blocks and the
// number of rows name no sum, so they change no bit.
#include <type_traits>

#include "core/fmath.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/kernels.h"

namespace minirl::kernels::cuda {
namespace {

constexpr int kThreads = 256;        // 16 x 16
constexpr int kSide = 16;
constexpr int kColumns = 64;         // of a tile
constexpr int kThreadColumns = kColumns / kSide;
constexpr int kSlice = 16;           // depth of a slice; kDepthChunk is a multiple of it
constexpr int kPadding = 4;          // floats; keeps 16-byte alignment
static_assert(kDepthChunk % kSlice == 0);

/// How a chunk's chain meets C.
enum class Meet : unsigned char {
  store_then_add,  // (mm.1) the first chunk is stored, the others are added
  add,             // (mm.2) every chunk is added
  chain,           // (mm.3) one chain that starts from C
};

/// A matrix of which the kernel takes element (line, depth); the line is a row or a column of C.
struct Operand {
  const float* at;
  Index stride;
};

/// Along which index an operand is contiguous.
enum class Layout : unsigned char { along_depth, along_lines };

/// One thread's elements of the slices of an operand: fetched to registers, stored to shared memory later.
template <int Lines, Layout layout>
class Slices {
 public:
  __device__ Slices(const Operand& operand, Index first_line, Index lines)
      : line_(layout == Layout::along_depth ? thread() / kSlice : thread() % Lines),
        depth_(layout == Layout::along_depth ? thread() % kSlice : thread() / Lines),
        lines_(static_cast<int>(lines - first_line < Lines ? lines - first_line : Lines)), stride_(operand.stride) {
    const Index line = first_line + line_;
    next_ = operand.at + (layout == Layout::along_depth ? line * stride_ + depth_ : depth_ * stride_ + line);
  }
  /// The next slice, `depth` deep; zeros outside of the matrix.
  __device__ void fetch(int depth) {
#pragma unroll
    for (int n = 0; n < kCount; ++n) {
      value_[n] = line_ + n * kLineStep < lines_ && depth_ + n * kDepthStep < depth ? next_[n * kStep * stride_] : 0.0F;
    }
    next_ += layout == Layout::along_depth ? kSlice : kSlice * stride_;
  }
  __device__ void store(float* tile) const {
#pragma unroll
    for (int n = 0; n < kCount; ++n) { tile[(depth_ + n * kDepthStep) * (Lines + kPadding) + line_ + n * kLineStep] = value_[n]; }
  }

 private:
  static constexpr int kCount = Lines * kSlice / kThreads;
  static_assert(kCount * kThreads == Lines * kSlice && (layout == Layout::along_depth || kThreads % Lines == 0));
  // From one element of a thread to the next, along the index that is not contiguous.
  static constexpr int kLineStep = layout == Layout::along_depth ? kThreads / kSlice : 0;
  static constexpr int kDepthStep = layout == Layout::along_depth ? 0 : kThreads / Lines;
  static constexpr Index kStep = kLineStep + kDepthStep;
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  int line_, depth_, lines_;
  Index stride_;
  const float* next_;
  float value_[kCount];
};

/// N consecutive floats of shared memory, in as few loads as N and its alignment allow.
template <int N>
__device__ void load(const float* from, float (&to)[N]) {
  using Vector = std::conditional_t<N % 4 == 0, float4, std::conditional_t<N % 2 == 0, float2, float>>;
  constexpr int kWidth = sizeof(Vector) / sizeof(float);
#pragma unroll
  for (int i = 0; i < N; i += kWidth) { *reinterpret_cast<Vector*>(to + i) = *reinterpret_cast<const Vector*>(from + i); }
}

struct Product {
  Operand a, b;  // lines of a are rows of C, lines of b are columns
  float* c;
  Index rows, columns, depth;
};

template <int Rows, Meet meet, Layout a_layout, Layout b_layout>
__global__ void __launch_bounds__(kThreads, 2) matmul(Product p) {
  constexpr int kThreadRows = Rows / kSide, kRowStride = Rows + kPadding, kColumnStride = kColumns + kPadding;
  MINIRL_SHARED(float, a_tiles, 2 * kSlice * kRowStride);
  MINIRL_SHARED(float, b_tiles, 2 * kSlice * kColumnStride);
  const Index first_row = static_cast<Index>(blockIdx.y) * Rows, first_column = static_cast<Index>(blockIdx.x) * kColumns;
  const int row = static_cast<int>(threadIdx.x) / kSide * kThreadRows, column = static_cast<int>(threadIdx.x) % kSide * kThreadColumns;

  // Calls body(i, j, element of C) for what this thread owns.
  const auto each_element = [&](auto body) {
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadColumns; ++j) {
        const Index r = first_row + row + i, c = first_column + column + j;
        if (r < p.rows && c < p.columns) { body(i, j, p.c + r * p.columns + c); }
      }
    }
  };

  float chain[kThreadRows][kThreadColumns] = {}, sum[kThreadRows][kThreadColumns] = {};
  if constexpr (meet == Meet::chain) { each_element([&](int i, int j, const float* c) { chain[i][j] = *c; }); }
  if constexpr (meet == Meet::add) { each_element([&](int i, int j, const float* c) { sum[i][j] = *c; }); }

  Slices<Rows, a_layout> a(p.a, first_row, p.rows);
  Slices<kColumns, b_layout> b(p.b, first_column, p.columns);
  const auto fetch = [&](Index depth) {
    const int count = static_cast<int>(p.depth - depth < kSlice ? p.depth - depth : kSlice);
    a.fetch(count);
    b.fetch(count);
  };
  fetch(0);
  int buffer = 0;
  for (Index depth = 0; depth < p.depth; depth += kSlice, buffer ^= 1) {
    a.store(a_tiles + buffer * kSlice * kRowStride);
    b.store(b_tiles + buffer * kSlice * kColumnStride);
    // One barrier a slice: whoever stores to this buffer again is two barriers further, behind everybody's use.
    __syncthreads();
    if (depth + kSlice < p.depth) { fetch(depth + kSlice); }
    const float* at_a = a_tiles + buffer * kSlice * kRowStride + row;
    const float* at_b = b_tiles + buffer * kSlice * kColumnStride + column;
    const auto step = [&](int k) {
      alignas(16) float x[kThreadRows];
      alignas(16) float y[kThreadColumns];
      load(at_a + k * kRowStride, x);
      load(at_b + k * kColumnStride, y);
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadColumns; ++j) { chain[i][j] = fmath::fma(x[i], y[j], chain[i][j]); }
      }
    };
    // What lies behind the end of the depth is left out: an fma with zeros would turn -0 into +0.
    if (p.depth - depth >= kSlice) {
#pragma unroll
      for (int k = 0; k < kSlice; ++k) { step(k); }
    } else {
      for (int k = 0; k < static_cast<int>(p.depth - depth); ++k) { step(k); }
    }
    if constexpr (meet != Meet::chain) {
      const Index next = depth + kSlice;
      if (next % kDepthChunk == 0 || next >= p.depth) {
        const bool store = meet == Meet::store_then_add && next <= kDepthChunk;
#pragma unroll
        for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
          for (int j = 0; j < kThreadColumns; ++j) {
            sum[i][j] = store ? chain[i][j] : sum[i][j] + chain[i][j];
            chain[i][j] = 0.0F;
          }
        }
      }
    }
  }
  each_element([&](int i, int j, float* c) { *c = meet == Meet::chain ? chain[i][j] : sum[i][j]; });
}

template <Meet meet, Layout a_layout, Layout b_layout>
void run(const Product& p, cudaStream_t stream) {
  if (p.rows == 0 || p.columns == 0 || p.depth == 0) { return; }
  constexpr int kFew = 16;                                   // rows of a tile; a decoding batch has few
  constexpr int kMany = meet == Meet::chain ? 128 : 96;      // two sums an element need more registers than one
  const auto at = [&](int rows) { return Launch{dim3(blocks(p.columns, kColumns), blocks(p.rows, rows)), kThreads, 0, stream}; };
  if (p.rows <= 2 * kFew) {
    launch(matmul<kFew, meet, a_layout, b_layout>, at(kFew), p);
  } else {
    launch(matmul<kMany, meet, a_layout, b_layout>, at(kMany), p);
  }
}

}  // namespace

void linear_forward(const float* x, const float* w, float* y, Index m, Index n, Index k, cudaStream_t stream) {
  if (k == 0 && m > 0 && n > 0) { check(cudaMemsetAsync(y, 0, static_cast<std::size_t>(m * n) * sizeof(float), stream), "clear"); }
  run<Meet::store_then_add, Layout::along_depth, Layout::along_depth>({{x, k}, {w, k}, y, m, n, k}, stream);
}
void linear_input_grad(const float* dy, const float* w, float* dx, Index m, Index n, Index k, cudaStream_t stream) {
  run<Meet::add, Layout::along_depth, Layout::along_lines>({{dy, n}, {w, k}, dx, m, k, n}, stream);
}
void linear_weight_grad(const float* dy, const float* x, float* dw, Index m, Index n, Index k, cudaStream_t stream) {
  run<Meet::chain, Layout::along_lines, Layout::along_lines>({{dy, n}, {x, k}, dw, n, k, m}, stream);
}

}  // namespace minirl::kernels::cuda
