// minirl kernels/dispatch.h -- one function pointer per instruction set, chosen at run time.
// A kernel file kernels/NAME.cpp is compiled once per instruction set with MINIRL_ISA set to its name.
// Everything it defines lives in namespace minirl::kernels::MINIRL_ISA, so that the linker can never
// mix variants; MINIRL_KERNEL_IMPL puts the variant into the table.
#pragma once
#include <array>

#include "core/exec.h"

#if !defined(MINIRL_ISA)
#define MINIRL_ISA base  // ordinary, non-kernel translation units
#endif

namespace minirl::kernels {

template <class Fn> struct KernelTable;
template <class... Args>
struct KernelTable<void(Args...)> {
  const char* name;
  std::array<void (*)(Args...), kIsaCount> impl{};

  void operator()(Args... args) const {
    void (*f)(Args...) = impl[static_cast<std::size_t>(active_isa())];
    MINIRL_CHECK(f != nullptr, "kernel {} is not compiled for {}", name, minirl::name(active_isa()));
    f(args...);
  }
};

namespace MINIRL_ISA {
#if defined(MINIRL_ISA_avx512)
inline constexpr std::size_t kIsaIndex = 2;
#elif defined(MINIRL_ISA_avx2)
inline constexpr std::size_t kIsaIndex = 1;
#else
inline constexpr std::size_t kIsaIndex = 0;
#endif
}  // namespace MINIRL_ISA

}  // namespace minirl::kernels

/// In a header: declares the table of a kernel, e.g. MINIRL_KERNEL(add_f32, void(const float*, float*, Index)).
#define MINIRL_KERNEL(kernel, ...) inline ::minirl::kernels::KernelTable<__VA_ARGS__> kernel{#kernel}

/// In kernels/NAME.cpp, at namespace minirl::kernels scope: registers this variant's function.
#define MINIRL_KERNEL_IMPL(kernel, function)                                                    \
  namespace MINIRL_ISA {                                                                        \
  namespace {                                                                                   \
  [[maybe_unused]] const bool kernel##_registered = (kernel.impl[kIsaIndex] = &function, true); \
  }                                                                                             \
  }
