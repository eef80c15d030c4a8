#include "core/arena.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace minirl {
namespace {

TEST_CASE("core/arena: a steady state reaches the system once; blocks are aligned") {
  Arena arena;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::pair<std::byte*, std::size_t>> taken;
    for (const std::size_t bytes : {1UL, 100UL, 5000UL, 3UL << 20, 5000UL}) {
      taken.emplace_back(arena.take(bytes), bytes);
      CHECK(reinterpret_cast<std::uintptr_t>(taken.back().first) % 64 == 0);
    }
    for (const auto& [block, bytes] : taken) {
      arena.give(block, bytes);
    }
  }
  CHECK(arena.stats().system_calls == 5);
  CHECK(arena.stats().live_bytes == 0);
  CHECK(arena.stats().reserved_bytes > 0);
  arena.trim();
  CHECK(arena.stats().reserved_bytes == 0);
}

TEST_CASE("core/arena: a block wastes at most an eighth") {
  Arena arena;
  for (std::size_t bytes = 512; bytes < (8UL << 20); bytes += bytes / 37) {
    std::byte* block = arena.take(bytes);
    CHECK(arena.stats().live_bytes >= bytes);
    CHECK(arena.stats().live_bytes - bytes <= bytes / 8);
    arena.give(block, bytes);
  }
}

TEST_CASE("core/arena: sizes that are no longer asked for do not pile up") {
  Arena arena;
  std::size_t most = 0;
  for (std::size_t tokens = 500; tokens < 900; tokens += 7) {  // micro-batches of growing length
    std::vector<std::pair<std::byte*, std::size_t>> taken;
    for (const std::size_t width : {128UL, 384UL, 128UL, 256UL, 512UL}) {
      taken.emplace_back(arena.take(tokens * width * 4), tokens * width * 4);
    }
    most = std::max(most, arena.stats().live_bytes);
    CHECK(arena.stats().reserved_bytes <= most + most / 8);
    for (const auto& [block, bytes] : taken) {
      arena.give(block, bytes);
    }
  }
}

}  // namespace
}  // namespace minirl
