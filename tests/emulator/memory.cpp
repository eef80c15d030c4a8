#include "tests/emulator/memory.h"

#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/emulator/race.h"

#if defined(EMULATOR_ADDRESS)
#include <sanitizer/asan_interface.h>
#endif

namespace emulator {
namespace {

std::map<const char*, std::size_t>& allocations() {
  static auto* all = new std::map<const char*, std::size_t>;  // never destroyed: buffers may be static
  return *all;
}

void* allocate(std::size_t bytes, std::size_t align) {
  void* at = nullptr;
  if (posix_memalign(&at, align, bytes > 0 ? bytes : 1) != 0) { return nullptr; }
  return at;
}

}  // namespace

void* allocate_device(std::size_t bytes) {
  void* at = allocate(bytes, 256);
  if (at == nullptr) { return nullptr; }
  std::memset(at, 0xff, bytes);
  allocations()[static_cast<const char*>(at)] = bytes;
  race::add_region(at, bytes, race::Kind::device);
  hide_device_memory(true);
  return at;
}

bool free_device(void* at) {
  const auto found = allocations().find(static_cast<const char*>(at));
  if (found == allocations().end()) { return false; }
  hide_device_memory(false);
  race::remove_region(at);
  allocations().erase(found);
  std::free(at);
  hide_device_memory(true);
  return true;
}

bool is_device(const void* at, std::size_t bytes) {
  const char* begin = static_cast<const char*>(at);
  auto next = allocations().upper_bound(begin);
  if (next == allocations().begin()) { return false; }
  --next;
  return begin + bytes <= next->first + next->second;
}

void* allocate_shared(std::size_t bytes) {
  void* at = allocate(bytes, 128);
  if (at == nullptr) { std::abort(); }
  race::add_region(at, bytes, race::Kind::shared);
  return at;
}

void free_shared(void* at) {
  race::remove_region(at);
  std::free(at);
}

void hide_device_memory([[maybe_unused]] bool hidden) {
#if defined(EMULATOR_ADDRESS)
  for (const auto& [at, bytes] : allocations()) {
    if (hidden) {
      __asan_poison_memory_region(at, bytes);
    } else {
      __asan_unpoison_memory_region(at, bytes);
    }
  }
#endif
}

}  // namespace emulator
