// minirl kernels/cuda/kernels.h -- the host side of the CUDA kernels, by file. Pointers are device memory unless said.
#pragma once
#include <cuda_runtime.h>

#include "kernels/attention_job.h"

namespace minirl::kernels {
class Backend;
}

namespace minirl::kernels::cuda {

// ---- backend.cu: the device as the rest of minirl sees it; the caller owns it.
Backend* make_backend(cudaStream_t stream);

// ---- rows.cu
#if defined(__CUDACC__)
/// An error if the device has no code of this build.
cudaError_t any_kernel_attributes(cudaFuncAttributes* attributes);
#endif
/// Throws if the program is not compiled for the device (double is not).
void run_rows(const char* name, const void* program, Index rows, cudaStream_t stream);

// ---- matmul.cu: fp32 in the canonical order
void linear_forward(const float* x, const float* w, float* y, Index m, Index n, Index k, cudaStream_t stream);
void linear_input_grad(const float* dy, const float* w, float* dx, Index m, Index n, Index k, cudaStream_t stream);
void linear_weight_grad(const float* dy, const float* x, float* dw, Index m, Index n, Index k, cudaStream_t stream);

// ---- bf16.cu: bf16 matrices (bit patterns), fp32 sums on tensor cores; a row does not depend on its batch. What is
// contiguous in a matrix is a multiple of 8; pointers are 16-byte aligned.
/// y = x W^T, rounded to bf16.
void bf16_linear_forward(const std::uint16_t* x, const std::uint16_t* w, std::uint16_t* y, Index m, Index n, Index k, cudaStream_t stream);
/// dx = dy W, rounded to bf16.
void bf16_linear_input_grad(const std::uint16_t* dy, const std::uint16_t* w, std::uint16_t* dx, Index m, Index n, Index k, cudaStream_t stream);
/// dW += dy^T x in fp32.
void bf16_linear_weight_grad(const std::uint16_t* dy, const std::uint16_t* x, float* dw, Index m, Index n, Index k, cudaStream_t stream);

// ---- attention.cu: fp32 in the canonical order
/// What one block works on: queries [first, end) of a run, or keys [first, end) of it. Query i is row i / heads and
/// head i % heads of the block's kv head.
struct AttentionItem {
  std::int32_t first_row, rows, first_position;  // of the run
  std::int32_t tiles;                            // where its tile ids begin in the list of all
  std::int32_t first, end;
};
inline constexpr int kForwardWarps = 8, kQueriesPerWarp = 4, kBackwardWarps = 8;

/// One row of the pool to write: tile id and slot come from `tile` and the position.
struct KvRow {
  std::int32_t row, position, tile;
};
void kv_store(const AttentionDims& dims, const float* k, const float* v, const KvRow* rows, Index count, float* pool_k, float* pool_v,
              cudaStream_t stream);
/// items hold at most kForwardWarps * kQueriesPerWarp queries.
void attention_forward(const AttentionForwardJob<float>& job, const AttentionItem* items, Index count, const std::int32_t* tile_ids,
                       cudaStream_t stream);
/// query_items hold at most kBackwardWarps queries, key_items as many keys. delta: (N, q_heads) scratch.
void attention_backward(const AttentionBackwardJob<float>& job, const AttentionItem* query_items, Index query_count,
                        const AttentionItem* key_items, Index key_count, float* delta, cudaStream_t stream);

}  // namespace minirl::kernels::cuda
