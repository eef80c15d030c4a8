// minirl kernels/cuda/tensor_core.cuh -- bf16 products on tensor cores (sm_80 and later), and copies that run beside them.
// The only file with PTX. Elements are bit patterns of bf16; a register holds two, the lower index in the low half.
//
// One product D (16, 8) += A (16, 16) B (16, 8) by a warp; of lane l, with g = l / 4 and q = 2 (l mod 4):
//   a[0]: A[g][q, q+1]   a[1]: A[g+8][q, q+1]   a[2]: A[g][q+8, q+9]   a[3]: A[g+8][q+8, q+9]
//   b[0]: B[q, q+1][g]   b[1]: B[q+8, q+9][g]
//   d[0, 1]: D[g][q, q+1]   d[2, 3]: D[g+8][q, q+1]
// An element of D depends on its row of A, its column of B and itself: not on the other rows of the tile.
#pragma once
#include "kernels/cuda/device.cuh"
#if !defined(__CUDACC__)
#include <emulated_tensor_core.h>
#endif

namespace minirl::kernels::cuda {

__device__ inline float bf16_to_float(std::uint32_t bits) {
  const std::uint32_t wide = bits << 16;
  float value;
  __builtin_memcpy(&value, &wide, sizeof value);
  return value;
}

/// Rounded to nearest, ties to even.
__device__ inline std::uint32_t pack_bf16(float low, float high) {
#if defined(__CUDA_ARCH__)
  std::uint32_t out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
#else
  const auto round = [](float x) {
    std::uint32_t u;
    __builtin_memcpy(&u, &x, sizeof u);
    return x != x ? 0x7fffU : (u + 0x7fffU + (u >> 16 & 1U)) >> 16;
  };
  return round(low) | round(high) << 16;
#endif
}

/// d += a b, sums in fp32.
__device__ inline void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#elif !defined(__CUDACC__)
  ::emulator::mma(d, a, b0, b1);
#endif
}

/// Four 8 x 8 matrices of shared memory to registers; lane l names row l mod 8 of matrix l / 8, 16-byte aligned. Register i
/// of lane l holds elements [l / 4][2 (l mod 4), + 1] of matrix i, or of its transpose.
template <bool transposed>
__device__ void load_matrices(std::uint32_t (&r)[4], const std::uint16_t* row) {
#if defined(__CUDA_ARCH__)
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
  }
#elif !defined(__CUDACC__)
  ::emulator::load_matrices<transposed>(r, row);
#endif
}

/// Begins a copy of 16 bytes from device to shared memory; it may happen any time until it is waited for.
__device__ inline void copy_async(void* shared, const void* device) {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), "l"(device) : "memory");
#elif !defined(__CUDACC__)
  ::emulator::copy_async(shared, device);
#endif
}
/// Ends a group of copies of this thread.
__device__ inline void end_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#elif !defined(__CUDACC__)
  ::emulator::end_copies();
#endif
}
/// Waits for this thread's groups except the last `open` ones.
template <int open>
__device__ void wait_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(open) : "memory");
#elif !defined(__CUDACC__)
  ::emulator::wait_copies(open);
#endif
}

}  // namespace minirl::kernels::cuda
