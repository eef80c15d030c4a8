// minirl core/arena.h -- recycles tensor storage, so that a steady state allocates nothing.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/device_memory.h"
#include "core/error.h"

namespace minirl {

/// Blocks are 64-byte aligned and kept in free lists by size class (an eighth of a power of two apart: at
/// most 12.5% waste). A request takes an idle block of its class, or else one up to half as large again, or
/// else a new one; before a new one idle blocks go back to the system, so that what is reserved stays within
/// an eighth above the most that was ever in use. Thread-safe.
class Arena {
 public:
  Arena() = default;
  /// Blocks of a device's memory, 256-byte aligned. `memory` must outlive the arena.
  explicit Arena(DeviceMemory& memory) : memory_(&memory) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Uninitialised memory of at least `bytes`; throws Error(out_of_memory) with advice.
  std::byte* take(std::size_t bytes);
  void give(std::byte* block, std::size_t bytes);
  /// Frees every block that is not in use.
  void trim();

  struct Stats {
    std::size_t live_bytes = 0;      // handed out now
    std::size_t peak_bytes = 0;      // highest live_bytes since reset_peak()
    std::size_t reserved_bytes = 0;  // live and recycled
    std::size_t system_calls = 0;    // allocations that reached the system
  };
  Stats stats() const;
  void reset_peak();

  /// Where the blocks are; null: host code may touch them.
  DeviceMemory* memory() const { return memory_; }

  /// The process-wide arena.
  static Arena& global();

 private:
  void add_live(std::size_t size);
  std::byte* reuse(std::size_t size);
  void make_room(std::size_t size);
  std::byte* obtain(std::size_t size);
  void dispose(std::byte* block);

  DeviceMemory* memory_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> free_;
  std::unordered_map<std::byte*, std::size_t> larger_;  // blocks in use that are of a larger class than asked for
  Stats stats_;
  std::size_t most_live_ = 0;  // ever
};

}  // namespace minirl
