// minirl tests/emulator/thread.h -- one CUDA thread of the block that runs.
#pragma once
#include <memory>
#include <vector>

#include "tests/emulator/engine.h"
#include "tests/emulator/fiber.h"

namespace emulator {

struct AsyncCopy {
  void* to;
  const void* from;
  std::uint32_t group;
  const void* code;
};

struct Thread {
  uint3 index{};
  unsigned linear = 0;
  std::unique_ptr<Fiber> fiber;  // null before its first step and after its last
  bool done = false;
  // Where it waits, and for what.
  const char* waits_for = nullptr;
  Site site{};
  const WarpOperation* operation = nullptr;
  std::uint32_t mask = 0;
  void* argument = nullptr;
  std::uint16_t warp_epoch = 0;  // number of __syncwarp that it has passed
  // Asynchronous copies that were not waited for yet, and the number of groups that were ended.
  std::vector<AsyncCopy> copies;
  std::uint32_t copy_group = 0;

  unsigned lane() const { return linear % 32; }
  unsigned warp() const { return linear / 32; }
  void begin() {
    done = false;
    waits_for = nullptr;
    operation = nullptr;
    warp_epoch = 0;
    copies.clear();
    copy_group = 0;
  }
  void wait(const char* what, Site at) {
    waits_for = what;
    site = at;
    operation = nullptr;
  }
};

/// Null in host code.
const Thread* running_thread();

}  // namespace emulator
