// minirl tests/emulator/memory.h -- device and shared memory: who may touch what, and when.
#pragma once
#include <cstddef>

namespace emulator {

/// 256-byte aligned and filled with NaN; null if there is none.
void* allocate_device(std::size_t bytes);
/// False if `at` is not the begin of an allocation.
bool free_device(void* at);
/// Whether [at, at + bytes) lies in one allocation.
bool is_device(const void* at, std::size_t bytes);

void* allocate_shared(std::size_t bytes);
void free_shared(void* at);

/// Between launches host code must not touch device memory (seen by the address build).
void hide_device_memory(bool hidden);

/// For copies by the host: opens the device's side as long as it lives.
class DeviceAccess {
 public:
  DeviceAccess() { hide_device_memory(false); }
  ~DeviceAccess() { hide_device_memory(true); }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace emulator
