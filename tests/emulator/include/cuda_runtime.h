// minirl tests/emulator/include/cuda_runtime.h -- found in place of CUDA's own when kernels are compiled for the
// emulator: the names that kernels and their host code use, and no others. There are no atomics: a sum whose
// order is open does not compile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "tests/emulator/engine.h"
#include <vector_types.h>

#define __host__
#define __device__
#define __global__ static __attribute__((unused))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

namespace emulator {

/// threadIdx.x and its kin: read by a call, because each thread has its own.
template <class V, V (*get)(), unsigned V::*axis>
struct Axis {
  operator unsigned() const { return get().*axis; }  // NOLINT(google-explicit-constructor)
};
template <class V, V (*get)()>
struct Extent {
  Axis<V, get, &V::x> x;
  Axis<V, get, &V::y> y;
  Axis<V, get, &V::z> z;
};

}  // namespace emulator

inline constexpr ::emulator::Extent<uint3, ::emulator::thread_index> threadIdx{};
inline constexpr ::emulator::Extent<uint3, ::emulator::block_index> blockIdx{};
inline constexpr ::emulator::Extent<dim3, ::emulator::block_extent> blockDim{};
inline constexpr ::emulator::Extent<dim3, ::emulator::grid_extent> gridDim{};

// ---- device functions; the defaults are the place of the call
#define EMULATOR_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(EMULATOR_SITE) { ::emulator::block_barrier({file, line}); }

inline void __syncwarp(unsigned mask = 0xffffffffU, EMULATOR_SITE) {
  static constexpr ::emulator::WarpOperation operation{"__syncwarp", [](void* const*, std::uint32_t) {}, true};
  ::emulator::warp_operation(operation, mask, nullptr, {file, line});
}

namespace emulator {

template <class T>
struct Shuffle {
  T in, out;
  unsigned source;
  bool absent;
};

template <class T>
__attribute__((no_sanitize("thread"))) T shuffle(unsigned mask, T value, unsigned source, const char* name, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  static const WarpOperation operation{
      name,
      [](void* const* arguments, std::uint32_t lanes) __attribute__((no_sanitize("thread"))) {
        for (unsigned l = 0; l < 32; ++l) {
          if ((lanes >> l & 1U) == 0) { continue; }
          auto* mine = static_cast<Shuffle<T>*>(arguments[l]);
          mine->absent = (lanes >> mine->source & 1U) == 0;
          if (!mine->absent) { mine->out = static_cast<const Shuffle<T>*>(arguments[mine->source])->in; }
        }
      },
      false};
  Shuffle<T> argument{value, value, source, false};
  warp_operation(operation, mask, &argument, site);
  if (argument.absent) { fault(std::string(name) + " at " + where(site) + " reads lane " + std::to_string(source) + ", which is not in the mask"); }
  return argument.out;
}

}  // namespace emulator

template <class T>
T __shfl_sync(unsigned mask, T value, int source, EMULATOR_SITE) {
  return ::emulator::shuffle(mask, value, static_cast<unsigned>(source) % 32U, "__shfl_sync", {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, EMULATOR_SITE) {
  return ::emulator::shuffle(mask, value, ::emulator::lane() ^ static_cast<unsigned>(lanes), "__shfl_xor_sync", {file, line});
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, EMULATOR_SITE) {
  const unsigned lane = ::emulator::lane();
  return ::emulator::shuffle(mask, value, lane + lanes < 32U ? lane + lanes : lane, "__shfl_down_sync", {file, line});
}

inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }

// ---- shared memory
/// T name[n] in shared memory; `tag` is one object for each declaration.
#define EMULATOR_SHARED(T, name, n)                 \
  static const char name##_tag = 0;                 \
  T* const name = static_cast<T*>(::emulator::shared_array(&name##_tag, sizeof(T) * (n)))
#define EMULATOR_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::emulator::dynamic_shared())

// ---- host functions (runtime.cpp)
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorLaunchFailure = 719 };
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
using cudaStream_t = struct CUstream_st*;
struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void** at, std::size_t bytes);
cudaError_t cudaFree(void* at);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

/// Unlike CUDA's, throws emulator::Error at a fault.
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
  struct Call {
    void (*kernel)(P...);
    std::tuple<P...> arguments;  // one copy, as on the device
  } call{kernel, std::tuple<P...>(static_cast<A&&>(arguments)...)};
  ::emulator::run({reinterpret_cast<const void*>(kernel), config->gridDim, config->blockDim, config->dynamicSmemBytes,
                   [](void* c) __attribute__((no_sanitize("thread"))) {
                     std::apply([k = static_cast<Call*>(c)->kernel](P... p) __attribute__((no_sanitize("thread"))) { k(p...); }, static_cast<Call*>(c)->arguments);
                   },
                   &call, sizeof call});
  return cudaSuccess;
}
