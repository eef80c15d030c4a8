// minirl core/arena.h -- recycles tensor storage, so that a steady state allocates nothing.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace minirl {

/// Blocks are 64-byte aligned and kept in free lists by size class (an eighth of a power of two apart: at
/// most 12.5% waste). Idle blocks go back to the system by trim(), by the destructor, and where shapes
/// change: what is reserved stays within a sixteenth above the most that was ever in use. Thread-safe.
class Arena {
 public:
  Arena() = default;
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

  /// The process-wide arena.
  static Arena& global();

 private:
  void make_room(std::size_t size);

  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> free_;
  Stats stats_;
  std::size_t most_live_ = 0;  // ever
};

}  // namespace minirl
