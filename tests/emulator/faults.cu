#include "tests/emulator/faults.h"

#include <memory>

#include "kernels/cuda/tensor_core.cuh"
#include "tests/emulator/device_memory.h"

namespace emulator {
namespace {

using minirl::kernels::cuda::kAllLanes;
using minirl::kernels::cuda::launch;
using Floats = std::vector<float>;

constexpr unsigned kThreads = 64;

Floats ramp(std::size_t n) {
  Floats v(n);
  for (std::size_t i = 0; i < n; ++i) { v[i] = static_cast<float>(i + 1); }
  return v;
}

// kernel(out, in) over one block; `in` holds 1, 2, 3 ...
template <class Kernel>
Floats run(Kernel kernel, unsigned threads = kThreads, unsigned grid = 1) {
  const DeviceArray<float> out(Floats(threads, 0.0F)), in(ramp(threads));
  launch(kernel, {.grid = grid, .block = threads}, out.get(), in.get());
  return out.host();
}

template <bool Faulty>
__global__ void missing_barrier(float* out, const float* in) {
  MINIRL_SHARED(float, tile, kThreads);
  tile[threadIdx.x] = in[threadIdx.x];
  if constexpr (!Faulty) { __syncthreads(); }
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

// Two rounds use one tile: without the second barrier a fast warp overwrites what a slow one still reads.
template <bool Faulty>
__global__ void reused_tile(float* out, const float* in) {
  MINIRL_SHARED(float, tile, kThreads);
  float sum = 0;
  for (unsigned round = 1; round <= 2; ++round) {
    tile[threadIdx.x] = in[threadIdx.x] * static_cast<float>(round);
    __syncthreads();
    sum += tile[kThreads - 1 - threadIdx.x];
    if constexpr (!Faulty) { __syncthreads(); }
  }
  out[threadIdx.x] = sum;
}

template <bool Faulty>
__global__ void missing_syncwarp(float* out, const float* in) {
  MINIRL_SHARED(float, tile, 32);
  tile[threadIdx.x] = in[threadIdx.x];
  if constexpr (!Faulty) { __syncwarp(); }
  out[threadIdx.x] = tile[threadIdx.x ^ 1U];
}

template <bool Faulty>
__global__ void divergent_barrier(float* out, const float* in) {
  float value = in[threadIdx.x];
  if (Faulty && threadIdx.x < 32) {
    value += 1;
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = value;
}

template <bool Faulty>
__global__ void early_return(float* out, const float* in) {
  if (Faulty && threadIdx.x == 5) { return; }
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}

template <bool Faulty>
__global__ void wrong_mask(float* out, const float* in) {
  const unsigned mask = Faulty ? 0x0000ffffU : kAllLanes;
  out[threadIdx.x] = __shfl_xor_sync(mask, in[threadIdx.x], 1);
}

template <bool Faulty>
__global__ void absent_lanes(float* out, const float* in) {
  if (Faulty && threadIdx.x >= 20) { return; }
  out[threadIdx.x] = __shfl_down_sync(kAllLanes, in[threadIdx.x], 8);
}

// Half of a warp waits for the other half, which never comes.
template <bool Faulty>
__global__ void divergent_shuffle(float* out, const float* in) {
  float value = in[threadIdx.x];
  if (!Faulty || threadIdx.x < 16) { value = __shfl_xor_sync(kAllLanes, value, 1); }
  __syncthreads();
  out[threadIdx.x] = value;
}

template <bool Faulty>
__global__ void off_by_one(float* out, const float* in) {
  const unsigned i = threadIdx.x + (Faulty ? 1U : 0U);
  out[i] = in[threadIdx.x];
}

template <bool Faulty>
__global__ void shared_bound(float* out, const float* in) {
  MINIRL_SHARED(float, tile, kThreads);
  for (unsigned i = threadIdx.x; Faulty ? i <= kThreads : i < kThreads; i += kThreads) { tile[i] = in[threadIdx.x]; }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

template <bool Faulty>
__global__ void dynamic_shared_bound(float* out, const float* in) {
  MINIRL_DYNAMIC_SHARED(float, tile);
  tile[threadIdx.x + (Faulty ? 1U : 0U)] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = Faulty ? 0.0F : tile[threadIdx.x];
}

template <bool Faulty>
__global__ void unwritten_shared(float* out, const float* in) {
  MINIRL_SHARED(float, tile, kThreads);
  if (threadIdx.x < kThreads - (Faulty ? 1U : 0U)) { tile[threadIdx.x] = in[threadIdx.x]; }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

template <bool Faulty>
__global__ void unwritten_device(float* out, float* scratch) {
  if (!Faulty || threadIdx.x > 3) { scratch[threadIdx.x] = 1.0F; }
  out[threadIdx.x] = scratch[threadIdx.x];
}

// Blocks add to one place: which addition is lost, or which comes first, is open.
template <bool Faulty>
__global__ void race_of_blocks(float* out, const float* in) {
  if (!Faulty && blockIdx.x > 0) { return; }
  out[threadIdx.x] = out[threadIdx.x] * 0.5F + in[threadIdx.x] + static_cast<float>(blockIdx.x);
}

template <bool Faulty>
__global__ void misaligned(float* out, const float* in) {
  if (threadIdx.x >= kThreads / 4 - 1) { return; }
  reinterpret_cast<float4*>(out)[threadIdx.x] = *reinterpret_cast<const float4*>(in + 4 * threadIdx.x + (Faulty ? 1 : 0));
}

template <bool Faulty>
__global__ void copy_not_waited_for(float* out, const float* in) {
  MINIRL_SHARED(float, tile, kThreads);
  if (threadIdx.x < kThreads / 4) { minirl::kernels::cuda::copy_async(tile + 4 * threadIdx.x, in + 4 * threadIdx.x); }
  minirl::kernels::cuda::end_copies();
  minirl::kernels::cuda::wait_copies<Faulty ? 1 : 0>();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

// The copy has arrived for the thread that waited, not for the others.
template <bool Faulty>
__global__ void copy_without_barrier(float* out, const float* in) {
  MINIRL_SHARED(float, tile, kThreads);
  if (threadIdx.x < kThreads / 4) { minirl::kernels::cuda::copy_async(tile + 4 * threadIdx.x, in + 4 * threadIdx.x); }
  minirl::kernels::cuda::end_copies();
  minirl::kernels::cuda::wait_copies<0>();
  if constexpr (!Faulty) { __syncthreads(); }
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

__global__ void copy(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }

#define MINIRL_BOTH(kernel, ...) [](bool faulty) { return faulty ? run(kernel<true> __VA_OPT__(, ) __VA_ARGS__) : run(kernel<false> __VA_OPT__(, ) __VA_ARGS__); }

Floats run_dynamic(bool faulty) {
  const DeviceArray<float> out(Floats(kThreads, 0.0F)), in(ramp(kThreads));
  launch(faulty ? dynamic_shared_bound<true> : dynamic_shared_bound<false>, {.grid = 1, .block = kThreads, .shared = kThreads * sizeof(float)}, out.get(), in.get());
  return out.host();
}

Floats run_unwritten_device(bool faulty) {
  const DeviceArray<float> out(Floats(kThreads, 0.0F));
  const DeviceArray<float> scratch(kThreads);
  launch(faulty ? unwritten_device<true> : unwritten_device<false>, {.grid = 1, .block = kThreads}, out.get(), scratch.get());
  return out.host();
}

Floats run_use_after_free(bool faulty) {
  const DeviceArray<float> out(Floats(kThreads, 0.0F));
  auto in = std::make_unique<DeviceArray<float>>(ramp(kThreads));
  const float* at = in->get();
  if (faulty) { in.reset(); }
  launch(copy, {.grid = 1, .block = kThreads}, out.get(), at);
  return out.host();
}

Floats run_host_pointer(bool faulty) {
  const Floats host = ramp(kThreads);
  const DeviceArray<float> out(Floats(kThreads, 0.0F)), in(host);
  launch(copy, {.grid = 1, .block = kThreads}, out.get(), faulty ? host.data() : in.get());
  return out.host();
}

Floats run_host_read(bool faulty) {
  const DeviceArray<float> in(ramp(kThreads));
  Floats out = in.host();
  if (faulty) { out[0] = *const_cast<const volatile float*>(in.get() + 3); }
  return out;
}

Floats run_wrong_direction(bool faulty) {
  const Floats host = ramp(kThreads);
  const DeviceArray<float> out(kThreads);
  minirl::kernels::cuda::check(cudaMemcpyAsync(out.get(), host.data(), kThreads * sizeof(float), faulty ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, nullptr), "copy");
  return out.host();
}

Floats run_large_block(bool faulty) { return run(copy, faulty ? 2048 : 1024); }

Floats run_large_shared(bool faulty) {
  constexpr unsigned kBytes = 64 * 1024;
  const DeviceArray<float> out(Floats(kThreads, 0.0F)), in(ramp(kThreads));
  const auto kernel = faulty ? missing_syncwarp<false> : dynamic_shared_bound<false>;  // the first has no permission
  if (!faulty) { minirl::kernels::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "attribute"); }
  launch(kernel, {.grid = 1, .block = 32, .shared = kBytes}, out.get(), in.get());
  return out.host();
}

}  // namespace

std::vector<Planted> planted_faults() {
  const std::string same = "divergent __syncthreads", left = "threads have left the kernel", mask = "is not in its own mask";
  const std::string bounds = "AddressSanitizer";
  return {
      {"missing barrier", MINIRL_BOTH(missing_barrier), "NaN", "NaN", "race: read"},
      {"shared memory reused without a barrier", MINIRL_BOTH(reused_tile), "order", "order", "race: "},
      {"missing __syncwarp", MINIRL_BOTH(missing_syncwarp, 32), "NaN", "NaN", "race: "},
      {"divergent barrier", MINIRL_BOTH(divergent_barrier), same, same, same},
      {"return before a barrier", MINIRL_BOTH(early_return), left, left, left},
      {"lane outside of its mask", MINIRL_BOTH(wrong_mask, 32), mask, mask, mask},
      {"mask with lanes that have left", MINIRL_BOTH(absent_lanes, 32), "or have left", "or have left", "or have left"},
      {"shuffle in half of a warp", MINIRL_BOTH(divergent_shuffle, 32), "deadlock", "deadlock", "deadlock"},
      {"global index off by one", MINIRL_BOTH(off_by_one), "", bounds, "out of bounds: write"},
      {"shared index off by one", MINIRL_BOTH(shared_bound), "", bounds, "out of bounds: write"},
      {"dynamic shared index off by one", run_dynamic, "", bounds, "out of bounds: write"},
      {"shared memory read before written", MINIRL_BOTH(unwritten_shared), "NaN", "NaN", "uninitialised: read"},
      {"device memory read before written", run_unwritten_device, "NaN", "NaN", "uninitialised: read"},
      {"blocks race for one place", [](bool faulty) { return faulty ? run(race_of_blocks<true>, kThreads, 3) : run(race_of_blocks<false>, kThreads, 3); }, "order", "order", "of another block"},
      {"misaligned vector load", MINIRL_BOTH(misaligned), "", "misaligned", "misaligned read"},
      {"asynchronous copy without a wait", MINIRL_BOTH(copy_not_waited_for), "were not waited for", "were not waited for", "were not waited for"},
      {"asynchronous copy without a barrier", MINIRL_BOTH(copy_without_barrier), "NaN", "NaN", "race: "},
      {"use after free", run_use_after_free, "", bounds, "out of bounds: read"},
      {"host memory in a kernel", run_host_pointer, "", "", "neither device nor shared memory"},
      {"device memory in host code", run_host_read, "", bounds, ""},
      {"copy in the wrong direction", run_wrong_direction, "invalid argument", "invalid argument", "invalid argument"},
      {"block of 2048 threads", run_large_block, "cannot be launched", "cannot be launched", "cannot be launched"},
      {"64 KiB of shared memory without permission", run_large_shared, "cannot be launched", "cannot be launched", "cannot be launched"},
  };
}

}  // namespace emulator
