// minirl kernels/matmul.h -- the three products of a linear layer; equations and orders: docs/math/matmul.md.
//
//   (mm.1)  y  = x W^T      y[m][n]   = sum over k of x[m][k] W[n][k]
//   (mm.2)  dx += dy W      dx[m][k] += sum over n of dy[m][n] W[n][k]
//   (mm.3)  dW += dy^T x    dW[n][k] += sum over m of dy[m][n] x[m][k]
//
// Canonical order. (mm.1), (mm.2): the summation index is cut into chunks of kDepthChunk at absolute
// multiples; each chunk is one chain acc = fma(a, b, acc) from acc = 0 in ascending order; the chunk
// results are added in ascending order, to nothing (mm.1: the first is stored) or to the stored gradient (mm.2).
// (mm.3): one chain over tokens in ascending order that starts from the stored gradient, so that cutting
// a batch into micro-batches changes no bit. The number of rows, blocks and threads and the
// instruction set appear nowhere in these orders, so they change no bit (R2, R3, R10).
#pragma once
#include "core/exec.h"
#include "core/tensor.h"
#include "kernels/order.h"

namespace minirl::kernels {

/// A weight W (N, K) packed in column panels for one of two products: pack once a parameter update,
/// use for many rows. f32 is packed; f64 (plain loops) and devices keep the tensor itself. Copies share storage.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// For linear_forward. w_NK: (N, K), f32 or f64.
  static PackedMatrix forward(const Exec& exec, const Tensor& w_NK);
  /// For linear_input_grad. w_NK: (N, K), f32 or f64.
  static PackedMatrix input_grad(const Exec& exec, const Tensor& w_NK);

  bool defined() const { return data_.defined(); }
  Index rows() const { return rows_; }  // N
  Index cols() const { return cols_; }  // K
  Index bytes() const { return data_.defined() ? data_.bytes() : 0; }
  DType dtype() const { return data_.dtype(); }

 private:
  enum class Use : unsigned char { forward, input_grad };
  static PackedMatrix pack(const Exec& exec, const Tensor& w_NK, Use use);
  friend void linear_forward(const Exec&, const Tensor&, const PackedMatrix&, Tensor&);
  friend void linear_input_grad(const Exec&, const Tensor&, const PackedMatrix&, Tensor&);

  Tensor data_;
  Index rows_ = 0, cols_ = 0;
  Use use_ = Use::forward;
};

/// (mm.1) y = x W^T. x_MK: (..., K) with M rows, w: forward-packed (N, K), y_MN: (..., N) with M rows, overwritten.
void linear_forward(const Exec& exec, const Tensor& x_MK, const PackedMatrix& w, Tensor& y_MN);
/// (mm.2) dx += dy W. dy_MN: (..., N), w: input_grad-packed (N, K), dx_MK: (..., K).
void linear_input_grad(const Exec& exec, const Tensor& dy_MN, const PackedMatrix& w, Tensor& dx_MK);
/// ... with W as it is, row-major f32 or f64: the same bits. Panels are packed block by block, which costs little
/// for many rows and saves a second copy of every weight.
void linear_input_grad(const Exec& exec, const Tensor& dy_MN, const Tensor& w_NK, Tensor& dx_MK);
/// (mm.3) dW += dy^T x. dy_MN: (..., N), x_MK: (..., K), dw_NK: (N, K).
void linear_weight_grad(const Exec& exec, const Tensor& dy_MN, const Tensor& x_MK, Tensor& dw_NK);

}  // namespace minirl::kernels
