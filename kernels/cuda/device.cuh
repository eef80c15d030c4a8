// minirl kernels/cuda/device.cuh -- what every CUDA source includes first. <cuda_runtime.h> is CUDA's own, or the
// emulator's that runs the same sources on a CPU (tests/emulator; docs/cuda.md says how kernels are written for both).
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/index.h"

#if defined(__CUDACC__)
/// T name[n] in the shared memory of the block, 16-byte aligned.
#define MINIRL_SHARED(T, name, n) __shared__ __align__(16) T name[n]
/// T* name: the shared memory that the launch asked for.
#define MINIRL_DYNAMIC_SHARED(T, name)                                    \
  extern __shared__ __align__(16) unsigned char minirl_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(minirl_dynamic_shared)
#else
#define MINIRL_SHARED(T, name, n) EMULATOR_SHARED(T, name, n)
#define MINIRL_DYNAMIC_SHARED(T, name) EMULATOR_DYNAMIC_SHARED(T, name)
#endif

namespace minirl::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffU;

/// Throws what the runtime says about a call that failed.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) { throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error)); }
}

struct Launch {
  dim3 grid, block;
  std::size_t shared = 0;  // bytes of dynamic shared memory
  cudaStream_t stream = nullptr;
};

/// kernel<<<...>>>(arguments...), checked.
template <class... P, class... A>
void launch(void (*kernel)(P...), const Launch& where, const A&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = where.grid;
  config.blockDim = where.block;
  config.dynamicSmemBytes = where.shared;
  config.stream = where.stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...), "kernel launch");
}

/// Number of blocks of `size` that hold n items.
inline unsigned blocks(Index n, Index size) { return static_cast<unsigned>((n + size - 1) / size); }

}  // namespace minirl::kernels::cuda
