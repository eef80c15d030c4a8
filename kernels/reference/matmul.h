// minirl kernels/reference/matmul.h -- plain loops that define the bits of the three products (docs/math/matmul.md).
// T is float or double. Rows [begin, end) of the result are computed; all matrices are row-major.
#pragma once
#include "kernels/matmul_block.h"

namespace minirl::kernels::MINIRL_ISA::reference {

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// (mm.1) y (M, N) = x (M, K) W^T, W (N, K).
template <class T>
void matmul_forward(const T* x, const T* w, T* y, Index begin, Index end, Index n, Index k) {
  for (Index m = begin; m < end; ++m) {
    for (Index j = 0; j < n; ++j) {
      T sum = 0;
      for (Index chunk = 0; chunk < k; chunk += kBlockDepth) {
        T acc = 0;
        for (Index i = chunk; i < k && i < chunk + kBlockDepth; ++i) { acc = fused(x[m * k + i], w[j * k + i], acc); }
        sum = chunk == 0 ? acc : sum + acc;
      }
      y[m * n + j] = sum;
    }
  }
}

/// (mm.2) dx (M, K) += dy (M, N) W, W (N, K).
template <class T>
void matmul_input_grad(const T* dy, const T* w, T* dx, Index begin, Index end, Index n, Index k) {
  for (Index m = begin; m < end; ++m) {
    for (Index i = 0; i < k; ++i) {
      T sum = dx[m * k + i];
      for (Index chunk = 0; chunk < n; chunk += kBlockDepth) {
        T acc = 0;
        for (Index j = chunk; j < n && j < chunk + kBlockDepth; ++j) { acc = fused(dy[m * n + j], w[j * k + i], acc); }
        sum = sum + acc;
      }
      dx[m * k + i] = sum;
    }
  }
}

/// (mm.3) dW (N, K) += dy^T x, dy (M, N), x (M, K).
template <class T>
void matmul_weight_grad(const T* dy, const T* x, T* dw, Index begin, Index end, Index m, Index n, Index k) {
  for (Index j = begin; j < end; ++j) {
    for (Index row = 0; row < m; ++row) {  // rows outside: each element of dW still sees them in ascending order
      for (Index i = 0; i < k; ++i) { dw[j * k + i] = fused(dy[row * n + j], x[row * k + i], dw[j * k + i]); }
    }
  }
}

}  // namespace minirl::kernels::MINIRL_ISA::reference
