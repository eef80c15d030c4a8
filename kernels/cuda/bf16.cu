// Products of bf16 matrices on tensor cores, sums in fp32. Not the bits of the CPU, but a row's bits do not depend on its batch:
// an element of C is one chain of (16 x 16) x (16 x 8) products over the depth in steps of 16, whatever the tile; the depth
// is never split. Tiles are chosen by the number of rows, which names no sum.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/tensor_core.cuh"

namespace minirl::kernels::cuda {
namespace {

constexpr int kThreads = 128;  // four warps
constexpr int kDepth = 32;     // of a slice: two steps
constexpr int kPadding = 8;    // elements; rows of a tile then start in different banks, still 16-byte aligned
constexpr int kCopy = 8;       // elements of one asynchronous copy

/// Along which index an operand is contiguous: x and W of (mm.1) along the depth, W of (mm.2) and both of (mm.3) along lines.
enum class Layout : unsigned char { along_depth, along_lines };

/// What becomes of the sums.
enum class Output : unsigned char { bf16, add_f32 };

struct Operand {
  const std::uint16_t* at;
  Index stride;
};

struct Product {
  Operand a, b;  // lines of a are rows of C, lines of b are columns
  void* c;
  Index rows, columns, depth;
};

/// A slice of an operand in shared memory, stored as it lies in memory: (lines, kDepth) or (kDepth, lines), rows padded.
template <int Lines, Layout layout>
struct Tile {
  static constexpr int kWidth = layout == Layout::along_depth ? kDepth : Lines;
  static constexpr int kHeight = layout == Layout::along_depth ? Lines : kDepth;
  static constexpr int kStride = kWidth + kPadding;
  static constexpr int kElements = kHeight * kStride;

  /// Begins the copies of a slice; zeros outside of the matrix.
  static __device__ void fetch(std::uint16_t* tile, const Operand& operand, Index first_line, Index lines, Index first_depth, Index depth) {
    for (int i = static_cast<int>(threadIdx.x) * kCopy; i < kHeight * kWidth; i += kThreads * kCopy) {
      const int row = i / kWidth, column = i % kWidth;
      const Index line = first_line + (layout == Layout::along_depth ? row : column), d = first_depth + (layout == Layout::along_depth ? column : row);
      std::uint16_t* to = tile + row * kStride + column;
      if (line < lines && d < depth) {
        copy_async(to, operand.at + (layout == Layout::along_depth ? line * operand.stride + d : d * operand.stride + line));
      } else {
        *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
      }
    }
  }
  /// The 16 x 16 fragment of A at (line, depth).
  static __device__ void load_a(std::uint32_t (&r)[4], const std::uint16_t* tile, int line, int depth, int lane) {
    if constexpr (layout == Layout::along_depth) {
      load_matrices<false>(r, tile + (line + lane % 16) * kStride + depth + lane / 16 * 8);
    } else {
      load_matrices<true>(r, tile + (depth + lane / 16 * 8 + lane % 8) * kStride + line + lane / 8 % 2 * 8);
    }
  }
  /// The fragments of B at (depth, line) and (depth, line + 8): registers 0, 1 and 2, 3.
  static __device__ void load_b(std::uint32_t (&r)[4], const std::uint16_t* tile, int line, int depth, int lane) {
    if constexpr (layout == Layout::along_depth) {
      load_matrices<false>(r, tile + (line + lane / 16 * 8 + lane % 8) * kStride + depth + lane / 8 % 2 * 8);
    } else {
      load_matrices<true>(r, tile + (depth + lane / 8 % 2 * 8 + lane % 8) * kStride + line + lane / 16 * 8);
    }
  }
};

/// Rows x Columns of C a block; RowWarps of the four warps side by side along the rows.
template <int Rows, int Columns, int RowWarps, Layout a_layout, Layout b_layout, Output output>
__global__ void __launch_bounds__(kThreads) bf16_product(Product p) {
  using A = Tile<Rows, a_layout>;
  using B = Tile<Columns, b_layout>;
  constexpr int kWarpRows = Rows / RowWarps, kWarpColumns = Columns / (4 / RowWarps);
  constexpr int kM = kWarpRows / 16, kN = kWarpColumns / 8;  // fragments of a warp
  static_assert(kM >= 1 && kN % 2 == 0);
  MINIRL_SHARED(std::uint16_t, a_tiles, 2 * A::kElements);
  MINIRL_SHARED(std::uint16_t, b_tiles, 2 * B::kElements);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = warp % RowWarps * kWarpRows, warp_column = warp / RowWarps * kWarpColumns;
  const Index first_row = static_cast<Index>(blockIdx.y) * Rows, first_column = static_cast<Index>(blockIdx.x) * Columns;

  const auto fetch = [&](int buffer, Index depth) {
    A::fetch(a_tiles + buffer * A::kElements, p.a, first_row, p.rows, depth, p.depth);
    B::fetch(b_tiles + buffer * B::kElements, p.b, first_column, p.columns, depth, p.depth);
    end_copies();
  };
  // body(sum, row, column) for the pairs of neighbours that this lane owns.
  float sum[kM][kN][4] = {};
  const auto each_pair = [&](auto body) {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const Index row = first_row + warp_row + 16 * m + lane / 4 + 8 * h, column = first_column + warp_column + 8 * n + 2 * (lane % 4);
          if (row < p.rows && column < p.columns) { body(sum[m][n] + 2 * h, row, column); }
        }
      }
    }
  };
  if constexpr (output == Output::add_f32) {
    each_pair([&](float* pair, Index row, Index column) {
      const float2 before = *reinterpret_cast<const float2*>(static_cast<const float*>(p.c) + row * p.columns + column);
      pair[0] = before.x, pair[1] = before.y;
    });
  }

  fetch(0, 0);
  int buffer = 0;
  for (Index depth = 0; depth < p.depth; depth += kDepth, buffer ^= 1) {
    wait_copies<0>();
    // The slice is there for everybody, and everybody is done with the other buffer.
    __syncthreads();
    if (depth + kDepth < p.depth) { fetch(buffer ^ 1, depth + kDepth); }
    const std::uint16_t *a = a_tiles + buffer * A::kElements, *b = b_tiles + buffer * B::kElements;
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      std::uint32_t fragments[kM][4];
#pragma unroll
      for (int m = 0; m < kM; ++m) { A::load_a(fragments[m], a, warp_row + 16 * m, k, lane); }
#pragma unroll
      for (int n = 0; n < kN; n += 2) {
        std::uint32_t columns[4];
        B::load_b(columns, b, warp_column + 8 * n, k, lane);
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          mma(sum[m][n], fragments[m], columns[0], columns[1]);
          mma(sum[m][n + 1], fragments[m], columns[2], columns[3]);
        }
      }
    }
  }
  each_pair([&](const float* pair, Index row, Index column) {
    if constexpr (output == Output::add_f32) {
      *reinterpret_cast<float2*>(static_cast<float*>(p.c) + row * p.columns + column) = {pair[0], pair[1]};
    } else {
      *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(p.c) + row * p.columns + column) = pack_bf16(pair[0], pair[1]);
    }
  });
}

template <Layout a_layout, Layout b_layout, Output output>
void run(const Product& p, cudaStream_t stream) {
  if (p.rows % 8 != 0 && a_layout == Layout::along_lines) { throw std::runtime_error("bf16 products need multiples of 8 along what is contiguous"); }
  if (p.columns % 8 != 0 || ((a_layout == Layout::along_depth || b_layout == Layout::along_depth) && p.depth % 8 != 0)) {
    throw std::runtime_error("bf16 products need multiples of 8 along what is contiguous");
  }
  if (p.rows == 0 || p.columns == 0) { return; }
  const auto at = [&](int rows, int columns) { return Launch{dim3(blocks(p.columns, columns), blocks(p.rows, rows)), kThreads, 0, stream}; };
  if (p.rows <= 16) {
    launch(bf16_product<16, 64, 1, a_layout, b_layout, output>, at(16, 64), p);
  } else if (p.rows <= 256) {
    launch(bf16_product<64, 64, 2, a_layout, b_layout, output>, at(64, 64), p);
  } else {
    launch(bf16_product<128, 128, 2, a_layout, b_layout, output>, at(128, 128), p);
  }
}

}  // namespace

void bf16_linear_forward(const std::uint16_t* x, const std::uint16_t* w, std::uint16_t* y, Index m, Index n, Index k, cudaStream_t stream) {
  run<Layout::along_depth, Layout::along_depth, Output::bf16>({{x, k}, {w, k}, y, m, n, k}, stream);
}
void bf16_linear_input_grad(const std::uint16_t* dy, const std::uint16_t* w, std::uint16_t* dx, Index m, Index n, Index k, cudaStream_t stream) {
  run<Layout::along_depth, Layout::along_lines, Output::bf16>({{dy, n}, {w, k}, dx, m, k, n}, stream);
}
void bf16_linear_weight_grad(const std::uint16_t* dy, const std::uint16_t* x, float* dw, Index m, Index n, Index k, cudaStream_t stream) {
  run<Layout::along_lines, Layout::along_lines, Output::add_f32>({{dy, n}, {x, k}, dw, n, k, m}, stream);
}

}  // namespace minirl::kernels::cuda
