#include "tests/emulator/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(EMULATOR_ADDRESS)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// emulator_switch(void** from, void* to): keeps the registers that a call must keep on the current
// stack, stores the stack pointer in *from and continues where `to` stopped.
asm(R"(
  .text
  .globl emulator_switch
  .type emulator_switch, @function
emulator_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emulator_switch, .-emulator_switch
)");
extern "C" void emulator_switch(void** from, void* to);
#endif

namespace emulator {
namespace {

Fiber* entering = nullptr;  // whose body enter() begins

}  // namespace

struct Fiber::Context {
#if defined(__x86_64__)
  void* host = nullptr;
  void* fiber = nullptr;
#else
  ucontext_t host{}, fiber{};
#endif
  // AddressSanitizer is told about every change of stack.
  void *host_shadow = nullptr, *fiber_shadow = nullptr;
  const void* host_stack = nullptr;
  std::size_t host_bytes = 0;
};

Fiber::Fiber() : context_(new Context) {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) { throw std::bad_alloc(); }
  mprotect(memory, kGuardBytes, PROT_NONE);
  stack_ = static_cast<char*>(memory) + kGuardBytes;
}

Fiber::~Fiber() {
  munmap(stack_ - kGuardBytes, kGuardBytes + kStackBytes);
  delete context_;
}

void Fiber::start(void (*body)(void*), void* argument) {
  body_ = body;
  argument_ = argument;
  finished_ = false;
#if defined(EMULATOR_ADDRESS)
  __asan_unpoison_memory_region(stack_, kStackBytes);
#endif
#if defined(__x86_64__)
  // What emulator_switch pops: six registers and the address to return to. Above it lies the return address
  // that enter() never uses; with it the stack is aligned as after a call.
  void** top = reinterpret_cast<void**>(stack_ + kStackBytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&Fiber::enter);
  for (int i = 0; i < 6; ++i) { *--top = nullptr; }
  context_->fiber = top;
#else
  getcontext(&context_->fiber);
  context_->fiber.uc_stack.ss_sp = stack_;
  context_->fiber.uc_stack.ss_size = kStackBytes;
  context_->fiber.uc_link = nullptr;
  makecontext(&context_->fiber, &Fiber::enter, 0);
#endif
}

void Fiber::enter() {
  Fiber* self = entering;
#if defined(EMULATOR_ADDRESS)
  __sanitizer_finish_switch_fiber(nullptr, &self->context_->host_stack, &self->context_->host_bytes);
#endif
  self->body_(self->argument_);
  self->finished_ = true;
  self->leave(true);
}

void Fiber::resume() {
  entering = this;
#if defined(EMULATOR_ADDRESS)
  __sanitizer_start_switch_fiber(&context_->host_shadow, stack_, kStackBytes);
#endif
#if defined(__x86_64__)
  emulator_switch(&context_->host, context_->fiber);
#else
  swapcontext(&context_->host, &context_->fiber);
#endif
#if defined(EMULATOR_ADDRESS)
  __sanitizer_finish_switch_fiber(context_->host_shadow, nullptr, nullptr);
#endif
}

void Fiber::suspend() { leave(false); }

void Fiber::leave([[maybe_unused]] bool for_good) {
#if defined(EMULATOR_ADDRESS)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &context_->fiber_shadow, context_->host_stack,
                                 context_->host_bytes);
#endif
#if defined(__x86_64__)
  emulator_switch(&context_->fiber, context_->host);
#else
  swapcontext(&context_->fiber, &context_->host);
#endif
#if defined(EMULATOR_ADDRESS)
  __sanitizer_finish_switch_fiber(context_->fiber_shadow, &context_->host_stack, &context_->host_bytes);
#endif
}

}  // namespace emulator
