// minirl tests/emulator/fiber.h -- a function with a stack of its own that can stop in the middle.
#pragma once
#include <cstddef>

namespace emulator {

/// One CUDA thread runs in one fiber; all fibers share one thread of the operating system, so that
/// nothing but the scheduler decides who runs when. On x86-64 a switch is 14 instructions,
/// elsewhere it is swapcontext.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next resume() begins body(argument). What an unfinished body left on the stack is dropped.
  void start(void (*body)(void*), void* argument);
  /// Host: runs the fiber until it suspends or its body returns.
  void resume();
  /// Inside the fiber: back to resume().
  void suspend();

  bool finished() const { return finished_; }
  bool on_stack(const void* address) const {
    const char* at = static_cast<const char*>(address);
    return at >= stack_ && at < stack_ + kStackBytes;
  }

 private:
  static constexpr std::size_t kStackBytes = 256 * 1024;
  static constexpr std::size_t kGuardBytes = 64 * 1024;  // below the stack: an overflow faults

  static void enter();
  void leave(bool for_good);

  char* stack_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool finished_ = true;
  struct Context;
  Context* context_;
};

}  // namespace emulator
