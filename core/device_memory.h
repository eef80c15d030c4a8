// minirl core/device_memory.h -- memory that host code cannot reach, and the copies to and from it.
#pragma once
#include <cstddef>

namespace minirl {

/// Copies and clearing happen in the order of the calls, after the work that was given to the device before.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// 256-byte aligned; null when the device has no more.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* block) = 0;
  /// `host` may be changed as soon as the call returns.
  virtual void copy_in(void* device, const void* host, std::size_t bytes) = 0;
  /// Returns when the bytes have arrived.
  virtual void copy_out(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy_within(void* to, const void* from, std::size_t bytes) = 0;
  /// All bytes zero.
  virtual void clear(void* at, std::size_t bytes) = 0;
};

}  // namespace minirl
