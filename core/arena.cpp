#include "core/arena.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace minirl {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kHuge = std::size_t{2} << 20;

std::size_t size_class(std::size_t bytes) {
  const std::size_t least = std::max(bytes, kAlign);
  const std::size_t quarter = std::max(std::bit_floor(least) / 4, kAlign);
  return (least + quarter - 1) / quarter * quarter;
}

}  // namespace

Arena::~Arena() { trim(); }

std::byte* Arena::take(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.live_bytes += size;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  auto& list = free_[size];
  if (!list.empty()) {
    std::byte* block = list.back();
    list.pop_back();
    return block;
  }
  const std::size_t align = size >= kHuge ? kHuge : kAlign;
  void* block = std::aligned_alloc(align, (size + align - 1) / align * align);
  if (block == nullptr) {
    stats_.live_bytes -= size;
    fail(Exit::out_of_memory, fmt::format("out of memory: {:.1f} MiB more were asked for on top of {:.1f} MiB in use",
                                          double(bytes) / 1048576.0, double(stats_.live_bytes) / 1048576.0),
         "lower train.tokens_per_micro or rollout.max_batch, set train.recompute_layers = true, train.optimizer_dtype or train.weights_dtype = \"bf16\", or "
         "runtime.packed_weights = \"each-use\"; `minirl plan` shows where memory goes");
  }
#if defined(__linux__)
  if (size >= kHuge) { ::madvise(block, size, MADV_HUGEPAGE); }
#endif
  stats_.reserved_bytes += size;
  ++stats_.system_calls;
  return static_cast<std::byte*>(block);
}

void Arena::give(std::byte* block, std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.live_bytes -= size;
  free_[size].push_back(block);
}

void Arena::trim() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [size, list] : free_) {
    for (std::byte* block : list) { std::free(block); }
    stats_.reserved_bytes -= size * list.size();
    list.clear();
  }
}

Arena::Stats Arena::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void Arena::reset_peak() {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
}

Arena& Arena::global() {
  static Arena* arena = new Arena;  // never destroyed: static tensors may outlive main
  return *arena;
}

}  // namespace minirl
