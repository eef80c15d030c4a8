// minirl kernels/backend.h -- what a device other than the CPU does for the kernels: the whole border to it.
// Above this line nobody knows CUDA; below it nobody knows a tensor. All pointers are device memory unless a comment
// says host. Calls only enqueue; the device works in their order. A call that fails throws std::runtime_error.
// The results have the bits of the CPU (docs/cuda.md).
#pragma once
#include <span>

#include "core/device_memory.h"
#include "kernels/attention_job.h"

namespace minirl {
struct Exec;
}

namespace minirl::kernels {

class Backend : public DeviceMemory {
 public:
  /// Runs the row program with this typeid name over rows [0, rows). `program` (host) is copied.
  virtual void rows(const char* name, const void* program, Index rows) = 0;

  /// (mm.1) y (M, N) = x (M, K) W^T, W (N, K).
  virtual void linear_forward(const float* x, const float* w, float* y, Index m, Index n, Index k) = 0;
  /// (mm.2) dx (M, K) += dy (M, N) W.
  virtual void linear_input_grad(const float* dy, const float* w, float* dx, Index m, Index n, Index k) = 0;
  /// (mm.3) dW (N, K) += dy^T x.
  virtual void linear_weight_grad(const float* dy, const float* x, float* dw, Index m, Index n, Index k) = 0;

  /// As kernels/attention.h; `runs` and their tiles are host memory. Of a job, run, kv_head and scratch are unused.
  virtual void kv_store(const AttentionDims& dims, const float* k, const float* v, std::span<const QueryRun> runs, float* pool_k,
                        float* pool_v) = 0;
  virtual void attention_forward(const AttentionForwardJob<float>& job, std::span<const QueryRun> runs) = 0;
  virtual void attention_backward(const AttentionBackwardJob<float>& job, std::span<const QueryRun> runs) = 0;

  /// Returns when the device has done everything.
  virtual void synchronize() = 0;
};

/// The backend of exec.device. Throws if the process has none.
Backend& backend(const Exec& exec);
/// Gives the process its backend, or takes it away (null). It must outlive all tensors on the device.
void set_backend(Backend* backend);

}  // namespace minirl::kernels
