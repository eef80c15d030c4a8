// minirl core/exec.h -- everything that a kernel may know about where it runs.
#pragma once
#include <string_view>

#include "core/error.h"

namespace minirl {

enum class DeviceKind : unsigned char { cpu, cuda };
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

class Arena;

/// Execution context. Neither the thread count nor the instruction set changes a bit of any result.
struct Exec {
  Device device{};
  void* stream = nullptr;  // CUDA stream; unused on the CPU
  int threads = 1;         // at most thread_pool_size() run at once
  Arena* arena = nullptr;  // where new tensors get their storage; null = the process-wide arena
};

/// Instruction sets that the CPU kernels are compiled for, narrowest first.
enum class Isa : unsigned char { portable, avx2, avx512 };
inline constexpr int kIsaCount = 3;

std::string_view name(Isa isa);
/// The widest set that this machine and this binary have.
Isa best_isa();
/// The set in use: best_isa() unless the environment variable MINIRL_SIMD or set_isa() says otherwise.
Isa active_isa();
/// Chooses a set for the whole process (tests, `runtime.simd`). Throws if the machine lacks it.
void set_isa(Isa isa);
/// "portable" | "avx2" | "avx512"; anything else is the user's error.
Isa parse_isa(std::string_view text);

}  // namespace minirl
