// minirl tests/emulator/engine.h -- runs CUDA kernels that a C++ compiler compiled: one fiber a CUDA thread,
// blocks one after the other, under an order of threads that the test chooses (docs/cuda.md).
//
// Three builds see different faults. All: barriers and warp operations that not everybody reaches, bad launches,
// shared memory read before it is written (it begins as NaN). address: AddressSanitizer and
// UndefinedBehaviorSanitizer, for bounds and alignment. race: every access of a kernel is checked against those that
// no barrier orders before it, for bounds of any device memory and for elements that nobody wrote.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "tests/emulator/include/vector_types.h"

namespace emulator {

/// What a launch throws: kernel, block, thread, file and line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Build : unsigned char { plain, address, race };
Build build();

struct Options {
  std::uint64_t order = 0;  // threads and blocks: 0 ascending, 1 descending, n > 1 the n-th random order
  std::size_t shared_limit = 227 * 1024;  // bytes a block may opt in to; 227 KiB on sm_90, 163 KiB on sm_80
};
Options& options();

/// Work since the start of the process.
struct Counts {
  std::uint64_t launches = 0, blocks = 0, threads = 0, waits = 0;
};
const Counts& counts();

struct Site {
  const char* file;
  int line;
  bool operator==(const Site&) const = default;
};

/// A kernel with its arguments: body(arguments) is one thread's run of it.
struct Launch {
  const void* kernel;  // names it in messages and for its limits
  dim3 grid, block;
  std::size_t dynamic_shared;  // bytes
  void (*body)(void*);
  void* arguments;
  std::size_t argument_bytes;
};
/// Runs the whole grid. Throws Error with the first fault; the device memory then holds what was written so far.
void run(const Launch& launch);
/// Allows `kernel` more than 48 KiB of dynamic shared memory; false if no device has so much.
bool allow_dynamic_shared(const void* kernel, std::size_t bytes);

// What kernels call, through include/cuda_runtime.h.
// The indices are constant for the code of one thread, which is all that a caller's frame belongs to.
[[gnu::const]] uint3 thread_index();
[[gnu::const]] uint3 block_index();
[[gnu::const]] dim3 block_extent();
[[gnu::const]] dim3 grid_extent();
void block_barrier(Site site);

/// Every lane of `mask` calls this with the same operation; the last one to come runs it over the arguments of all.
struct WarpOperation {
  const char* name;
  void (*run)(void* const* arguments, std::uint32_t mask);  // arguments[lane]
  bool orders_memory;
};
void warp_operation(const WarpOperation& operation, std::uint32_t mask, void* argument, Site site);
unsigned lane();

/// The block's array of the declaration `tag` stands for; the same for all its threads.
void* shared_array(const void* tag, std::size_t bytes);
void* dynamic_shared();

/// Ends the launch with an error at the running thread.
[[noreturn]] void fault(const std::string& message);
std::string where(Site site);

}  // namespace emulator
