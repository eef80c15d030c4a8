// The host functions of CUDA that the kernels' host code calls. Streams run at once.
#include <cuda_runtime.h>

#include <cstring>

#include "tests/emulator/memory.h"
#include "tests/emulator/race.h"

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidValue: return "invalid argument";
    default: return "unspecified launch failure";
  }
}

cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  *at = emulator::allocate_device(bytes);
  return *at != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void* at) { return at == nullptr || emulator::free_device(at) ? cudaSuccess : cudaErrorInvalidValue; }

// A pointer of the other side than `kind` says is an error here, where a device would guess or crash.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  if (bytes == 0) { return cudaSuccess; }
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (emulator::is_device(to, bytes) != to_device || emulator::is_device(from, bytes) != from_device) { return cudaErrorInvalidValue; }
  const emulator::DeviceAccess open;
  std::memmove(to, from, bytes);
  if (to_device) { emulator::race::host_wrote(to, bytes); }
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t) {
  if (bytes == 0) { return cudaSuccess; }
  if (!emulator::is_device(at, bytes)) { return cudaErrorInvalidValue; }
  const emulator::DeviceAccess open;
  std::memset(at, value, bytes);
  emulator::race::host_wrote(at, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  return emulator::allow_dynamic_shared(kernel, static_cast<std::size_t>(value)) ? cudaSuccess : cudaErrorInvalidValue;
}
