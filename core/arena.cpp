#include "core/arena.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#if defined(__linux__)
#include <malloc.h>
#include <sys/mman.h>
#endif

namespace minirl {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kHuge = std::size_t{2} << 20;

std::size_t size_class(std::size_t bytes) {
  const std::size_t least = std::max(bytes, kAlign);
  const std::size_t step = std::max(std::bit_floor(least) / 8, kAlign);
  return (least + step - 1) / step * step;
}

// By default the C library moves its threshold up to the largest block that was freed; then freed tensors
// would stay in its heap, in pieces.
void give_freed_blocks_to_the_system() {
#if defined(__GLIBC__)
  static const int once = ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
  (void)once;
#endif
}

}  // namespace

Arena::~Arena() { trim(); }

std::byte* Arena::take(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::byte* block = reuse(size)) { return block; }
  add_live(size);
  give_freed_blocks_to_the_system();
  make_room(size);
  std::byte* block = obtain(size);
  if (block == nullptr) {
    stats_.live_bytes -= size;
    fail(Exit::out_of_memory, fmt::format("out of memory{}: {:.1f} MiB more were asked for on top of {:.1f} MiB in use",
                                          memory_ != nullptr ? " on the device" : "", double(bytes) / 1048576.0, double(stats_.live_bytes) / 1048576.0),
         "lower train.tokens_per_micro or rollout.max_batch, set train.recompute_layers = true, train.optimizer_dtype or train.weights_dtype = \"bf16\", or "
         "runtime.packed_weights = \"each-use\"; `minirl plan` shows where memory goes");
  }
  stats_.reserved_bytes += size;
  ++stats_.system_calls;
  return block;
}

std::byte* Arena::obtain(std::size_t size) {
  if (memory_ != nullptr) { return static_cast<std::byte*>(memory_->allocate(size)); }
  const std::size_t align = size >= kHuge ? kHuge : kAlign;
  void* block = std::aligned_alloc(align, (size + align - 1) / align * align);
#if defined(__linux__)
  if (block != nullptr && size >= kHuge) { ::madvise(block, size, MADV_HUGEPAGE); }
#endif
  return static_cast<std::byte*>(block);
}

void Arena::dispose(std::byte* block) {
  if (memory_ != nullptr) {
    memory_->release(block);
  } else {
    std::free(block);
  }
}

void Arena::add_live(std::size_t size) {
  stats_.live_bytes += size;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  most_live_ = std::max(most_live_, stats_.live_bytes);
}

std::byte* Arena::reuse(std::size_t size) {
  for (auto it = free_.lower_bound(size); it != free_.end() && it->first <= size + size / 2; ++it) {
    auto& [found, list] = *it;
    if (list.empty()) { continue; }
    std::byte* block = list.back();
    list.pop_back();
    if (found != size) { larger_.emplace(block, found); }
    add_live(found);
    return block;
  }
  return nullptr;
}

// Micro-batches differ in length: without this every size that ever occurred would keep its own blocks.
void Arena::make_room(std::size_t size) {
  const std::size_t allowed = most_live_ + most_live_ / 8;
  for (auto it = free_.rbegin(); it != free_.rend() && stats_.reserved_bytes + size > allowed; ++it) {
    auto& [idle, list] = *it;
    while (!list.empty() && stats_.reserved_bytes + size > allowed) {
      dispose(list.back());
      list.pop_back();
      stats_.reserved_bytes -= idle;
    }
  }
}

void Arena::give(std::byte* block, std::size_t bytes) {
  std::size_t size = size_class(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = larger_.find(block); found != larger_.end()) {
    size = found->second;
    larger_.erase(found);
  }
  stats_.live_bytes -= size;
  free_[size].push_back(block);
}

void Arena::trim() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [size, list] : free_) {
    for (std::byte* block : list) { dispose(block); }
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
