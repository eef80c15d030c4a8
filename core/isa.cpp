#include <atomic>
#include <cstdlib>

#include "core/exec.h"

namespace minirl {
namespace {

bool machine_has([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx2) { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }
  if (isa == Isa::avx512) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("fma") != 0;
  }
#endif
  return isa == Isa::portable;
}

Isa initial_isa() {
  if (const char* wanted = std::getenv("MINIRL_SIMD"); wanted != nullptr && *wanted != '\0') {
    const Isa isa = parse_isa(wanted);
    if (!machine_has(isa)) { fail(Exit::usage, fmt::format("MINIRL_SIMD={}: this machine does not have it", wanted)); }
    return isa;
  }
  return best_isa();
}

std::atomic<Isa>& slot() {
  static std::atomic<Isa> isa{initial_isa()};
  return isa;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    default: return "portable";
  }
}

Isa best_isa() {
  if (machine_has(Isa::avx512)) { return Isa::avx512; }
  return machine_has(Isa::avx2) ? Isa::avx2 : Isa::portable;
}

Isa active_isa() { return slot().load(std::memory_order_relaxed); }

void set_isa(Isa isa) {
  if (!machine_has(isa)) { fail(Exit::usage, fmt::format("instruction set '{}' is not available on this machine", name(isa))); }
  slot().store(isa, std::memory_order_relaxed);
}

Isa parse_isa(std::string_view text) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (text == name(isa)) { return isa; }
  }
  fail(Exit::usage, fmt::format("unknown instruction set '{}'", text), "use portable, avx2 or avx512");
}

}  // namespace minirl
