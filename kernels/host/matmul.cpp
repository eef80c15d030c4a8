#include "kernels/matmul.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/backend.h"
#include "kernels/host/scratch.h"
#include "kernels/matmul_block.h"

namespace minirl::kernels {
namespace {

bool on_device(const Exec& exec) { return exec.device.kind != DeviceKind::cpu; }

static_assert(kBlockDepth == kDepthChunk);

// Below this many fused multiply-adds, waking a thread costs more than it saves.
constexpr Index kSmallProduct = 512 * 1024;
// Blocks that a thread should get, so that an uneven last one costs little; and the least that is worth packing.
constexpr Index kBlocksPerThread = 4;
constexpr Index kLeastRows = 64;

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

/// How C (rows, columns) is cut into blocks. Any cut gives the same bits.
struct Blocks {
  Index rows, columns;              // of a block
  Index row_blocks, column_blocks;  // how many
};

Blocks cut(Index rows, Index columns, Index most_columns, int threads) {
  Blocks b{};
  const Index wanted = threads == 1 ? 1 : kBlocksPerThread * threads;
  b.column_blocks = ceil_div(columns, most_columns);
  const Index finer = std::min(ceil_div(wanted, b.column_blocks), rows / kLeastRows);
  b.row_blocks = std::max({ceil_div(rows, kBlockRows), finer, Index{1}});
  // The same number of blocks for every thread.
  if (b.row_blocks > 1 && b.row_blocks * b.column_blocks % threads != 0) { b.row_blocks = ceil_div(b.row_blocks, threads) * threads; }
  // Too few rows to go round (decoding): narrower blocks.
  if (b.row_blocks * b.column_blocks < wanted) {
    b.column_blocks = std::clamp(ceil_div(wanted, b.row_blocks), b.column_blocks, ceil_div(columns, kPanel));
  }
  b.rows = ceil_div(rows, b.row_blocks);
  b.columns = ceil_div(ceil_div(columns, b.column_blocks), kPanel) * kPanel;
  b.row_blocks = ceil_div(rows, b.rows);
  b.column_blocks = ceil_div(columns, b.columns);
  return b;
}

/// Packs B (depth, columns), row-major or (columns, depth) if transposed, chunk by chunk into panels.
void pack_matrix(const Exec& exec, const float* b, Index stride, bool transposed, Index depth, Index columns, float* packed) {
  const Index panels = ceil_div(columns, kPanel), chunks = ceil_div(depth, kBlockDepth);
  const int threads = depth * columns < kSmallProduct ? 1 : exec.threads;
  parallel_items(threads, panels * chunks, [&](Index item, Index) {
    const Index first_row = item / panels * kBlockDepth, panel = item % panels, first_column = panel * kPanel;
    const Index rows = std::min(kBlockDepth, depth - first_row), width = std::min(kPanel, columns - first_column);
    const float* from = transposed ? b + first_column * stride + first_row : b + first_row * stride + first_column;
    pack_panels_f32(from, stride, transposed, rows, width, packed + (first_row * panels + rows * panel) * kPanel);
  });
}

/// Runs `whole` (a job for all of C) block by block on the threads.
void run_blocks(const Exec& exec, const BlockJob& whole) {
  if (whole.rows == 0 || whole.columns == 0 || whole.depth == 0) { return; }
  const int threads = whole.rows * whole.columns * whole.depth < kSmallProduct ? 1 : exec.threads;
  const bool packed = whole.b_panels > 0;
  const Blocks blocks = cut(whole.rows, whole.columns, packed ? kWideColumns : kBlockColumns, threads);
  if (!packed && blocks.row_blocks > 1) {  // several blocks would pack the same columns: once for all of them
    const Index panels = ceil_div(whole.columns, kPanel);
    Tensor buffer = Tensor::empty({std::min(whole.depth, kSlabDepth) * panels * kPanel}, DType::f32, exec);
    for (Index first = 0; first < whole.depth; first += kSlabDepth) {
      BlockJob slab = whole;
      slab.depth = std::min(kSlabDepth, whole.depth - first);
      slab.a += first * (whole.a_transposed ? whole.a_stride : 1);
      pack_matrix(exec, whole.b + first * whole.b_stride, whole.b_stride, false, slab.depth, whole.columns, buffer.data<float>());
      slab.b = buffer.data<float>();
      slab.b_panels = panels;
      run_blocks(exec, slab);
    }
    return;
  }
  parallel_items(threads, blocks.row_blocks * blocks.column_blocks, [&](Index item, Index) {
    // Row blocks are neighbours in time, so that they share the columns' operand in the caches.
    const Index row = item % blocks.row_blocks * blocks.rows, column = item / blocks.row_blocks * blocks.columns;
    BlockJob job = whole;
    job.rows = std::min(blocks.rows, whole.rows - row);
    job.columns = std::min(blocks.columns, whole.columns - column);
    job.a += row * (whole.a_transposed ? 1 : whole.a_stride);
    if (packed) { job.b_panel = column / kPanel; } else { job.b += column; }
    job.c += row * whole.c_stride + column;
    job.scratch = thread_scratch(kScratchFloats);
    matmul_block_f32(job);
  });
}

void check_rows(const char* what, const Tensor& t, Index rows, Index columns, DType dtype) {
  MINIRL_CHECK(t.defined() && t.shape().last() == columns && t.numel() == rows * columns && t.dtype() == dtype,
               "{}: {} {}, expected {} with {} rows of {}", what, t.shape().str(), name(t.dtype()), name(dtype), rows, columns);
}

}  // namespace

PackedMatrix PackedMatrix::pack(const Exec& exec, const Tensor& w_NK, Use use) {
  MINIRL_CHECK(w_NK.defined() && w_NK.shape().rank == 2, "a weight matrix is needed, not {}", w_NK.shape().str());
  MINIRL_CHECK(w_NK.dtype() == DType::f32 || w_NK.dtype() == DType::f64, "weights are f32 or f64, not {}", name(w_NK.dtype()));
  PackedMatrix p;
  p.rows_ = w_NK.shape()[0];
  p.cols_ = w_NK.shape()[1];
  p.use_ = use;
  if (w_NK.dtype() == DType::f64 || on_device(exec)) {
    p.data_ = w_NK;
    return p;
  }
  // B (depth, columns): W^T for (mm.1), W itself for (mm.2).
  const bool transposed = use == Use::forward;
  const Index depth = transposed ? p.cols_ : p.rows_, columns = transposed ? p.rows_ : p.cols_;
  p.data_ = Tensor::empty({depth * ceil_div(columns, kPanel) * kPanel}, DType::f32, exec);
  pack_matrix(exec, w_NK.data<float>(), p.cols_, transposed, depth, columns, p.data_.data<float>());
  return p;
}

PackedMatrix PackedMatrix::forward(const Exec& exec, const Tensor& w_NK) { return pack(exec, w_NK, Use::forward); }
PackedMatrix PackedMatrix::input_grad(const Exec& exec, const Tensor& w_NK) { return pack(exec, w_NK, Use::input_grad); }

void linear_forward(const Exec& exec, const Tensor& x_MK, const PackedMatrix& w, Tensor& y_MN) {
  MINIRL_CHECK(w.defined() && w.use_ == PackedMatrix::Use::forward, "linear_forward needs a forward-packed weight");
  const Index m = y_MN.rows(), n = w.rows_, k = w.cols_;
  check_rows("linear_forward x", x_MK, m, k, w.dtype());
  check_rows("linear_forward y", y_MN, m, n, w.dtype());
  if (on_device(exec)) { return backend(exec).linear_forward(x_MK.data<float>(), w.data_.data<float>(), y_MN.data<float>(), m, n, k); }
  if (w.dtype() == DType::f64) {
    const double *x = x_MK.data<double>(), *weight = w.data_.data<double>();
    double* y = y_MN.data<double>();
    parallel_ranges(exec.threads, m, 1, [&](Index begin, Index end) { matmul_forward_f64(x, weight, y, begin, end, n, k); });
    return;
  }
  if (k == 0) { y_MN.zero(); }
  run_blocks(exec, {m, n, k, x_MK.data<float>(), k, false, w.data_.data<float>(), 0, ceil_div(n, kPanel), 0,
                    y_MN.data<float>(), n, Meet::store_then_add, nullptr});
}

void linear_input_grad(const Exec& exec, const Tensor& dy_MN, const PackedMatrix& w, Tensor& dx_MK) {
  MINIRL_CHECK(w.defined() && w.use_ == PackedMatrix::Use::input_grad, "linear_input_grad needs an input_grad-packed weight");
  const Index m = dy_MN.rows(), n = w.rows_, k = w.cols_;
  check_rows("linear_input_grad dy", dy_MN, m, n, w.dtype());
  check_rows("linear_input_grad dx", dx_MK, m, k, w.dtype());
  if (on_device(exec)) { return backend(exec).linear_input_grad(dy_MN.data<float>(), w.data_.data<float>(), dx_MK.data<float>(), m, n, k); }
  if (w.dtype() == DType::f64) {
    const double *dy = dy_MN.data<double>(), *weight = w.data_.data<double>();
    double* dx = dx_MK.data<double>();
    parallel_ranges(exec.threads, m, 1, [&](Index begin, Index end) { matmul_input_grad_f64(dy, weight, dx, begin, end, n, k); });
    return;
  }
  run_blocks(exec, {m, k, n, dy_MN.data<float>(), n, false, w.data_.data<float>(), 0, ceil_div(k, kPanel), 0,
                    dx_MK.data<float>(), k, Meet::add, nullptr});
}

void linear_input_grad(const Exec& exec, const Tensor& dy_MN, const Tensor& w_NK, Tensor& dx_MK) {
  MINIRL_CHECK(w_NK.defined() && w_NK.shape().rank == 2, "a weight matrix is needed, not {}", w_NK.shape().str());
  if (w_NK.dtype() == DType::f64 || on_device(exec)) { return linear_input_grad(exec, dy_MN, PackedMatrix::input_grad(exec, w_NK), dx_MK); }
  const Index m = dy_MN.rows(), n = w_NK.shape()[0], k = w_NK.shape()[1];
  check_rows("linear_input_grad dy", dy_MN, m, n, w_NK.dtype());
  check_rows("linear_input_grad dx", dx_MK, m, k, w_NK.dtype());
  run_blocks(exec, {m, k, n, dy_MN.data<float>(), n, false, w_NK.data<float>(), k, 0, 0, dx_MK.data<float>(), k, Meet::add, nullptr});
}

void linear_weight_grad(const Exec& exec, const Tensor& dy_MN, const Tensor& x_MK, Tensor& dw_NK) {
  MINIRL_CHECK(dw_NK.defined() && dw_NK.shape().rank == 2, "linear_weight_grad dW: a matrix is needed, not {}", dw_NK.shape().str());
  const Index m = x_MK.rows(), n = dw_NK.shape()[0], k = dw_NK.shape()[1];
  check_rows("linear_weight_grad dy", dy_MN, m, n, dw_NK.dtype());
  check_rows("linear_weight_grad x", x_MK, m, k, dw_NK.dtype());
  if (on_device(exec)) { return backend(exec).linear_weight_grad(dy_MN.data<float>(), x_MK.data<float>(), dw_NK.data<float>(), m, n, k); }
  if (dw_NK.dtype() == DType::f64) {
    const double *dy = dy_MN.data<double>(), *x = x_MK.data<double>();
    double* dw = dw_NK.data<double>();
    parallel_ranges(exec.threads, n, 1, [&](Index begin, Index end) { matmul_weight_grad_f64(dy, x, dw, begin, end, m, n, k); });
    return;
  }
  run_blocks(exec, {n, k, m, dy_MN.data<float>(), n, true, x_MK.data<float>(), k, 0, 0, dw_NK.data<float>(), k, Meet::chain, nullptr});
}

}  // namespace minirl::kernels
