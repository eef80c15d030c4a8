// minirl tests/emulator/race.h -- who accessed what, and whether a barrier lies between (race build only).
// Kernels are compiled with -fsanitize=thread and linked without its library: race.cpp has the functions that the
// compiler calls at every access. Two accesses of a place by different threads, one of them a write, are ordered by
//   a __syncthreads between them (same block),
//   a __syncwarp between them (same warp; shuffles order nothing),
//   the end of a launch.
// Unordered ones are a race, whatever the order of this run made of them.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace emulator::race {

enum class Kind : unsigned char { device, shared };
void add_region(const void* at, std::size_t bytes, Kind kind);
void remove_region(const void* at);
/// Nobody has written the region's elements (shared memory at the begin of a block).
void forget(const void* at);
/// The host wrote [at, at + bytes).
void host_wrote(const void* at, std::size_t bytes);

/// Threads may read the kernel's parameters.
void begin_launch(const void* parameters, std::size_t bytes);
void begin_block();
void block_barrier();

/// An access that the compiler does not see: the collective loads and copies of the emulator itself.
void access(const void* at, std::size_t bytes, bool write, const void* code);

/// What was found since begin_launch(), at most kMostReports.
const std::vector<std::string>& reports();
inline constexpr std::size_t kMostReports = 8;

/// "name" and "file:line" of code, by addr2line; the address if that is not installed.
std::string function_at(const void* code);
std::string line_at(const void* code);

}  // namespace emulator::race
