// minirl kernels/host/scratch.h -- a thread's packing buffer: grows, never shrinks, lives as long as the thread.
#pragma once
#include <cstdlib>
#include <new>

#include "core/error.h"

namespace minirl::kernels {

/// Uninitialised, 64-byte aligned floats that belong to the calling thread until its next call.
inline float* thread_scratch(Index floats) {
  struct Buffer {
    float* data = nullptr;
    Index floats = 0;
    ~Buffer() { std::free(data); }
  };
  thread_local Buffer buffer;
  if (buffer.floats < floats) {
    std::free(buffer.data);
    const std::size_t bytes = (static_cast<std::size_t>(floats) * sizeof(float) + 63) / 64 * 64;
    buffer.data = static_cast<float*>(std::aligned_alloc(64, bytes));
    buffer.floats = buffer.data == nullptr ? 0 : floats;
    if (buffer.data == nullptr) { throw std::bad_alloc(); }
  }
  return buffer.data;
}

}  // namespace minirl::kernels
