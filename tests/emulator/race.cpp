#include "tests/emulator/race.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>

#include "tests/emulator/thread.h"

extern "C" const char __executable_start[] __attribute__((weak));
extern "C" const char end[] __attribute__((weak));

namespace emulator {

Build build() {
#if defined(EMULATOR_ADDRESS)
  return Build::address;
#elif defined(EMULATOR_RACE)
  return Build::race;
#else
  return Build::plain;
#endif
}

}  // namespace emulator

namespace emulator::race {
namespace {

std::vector<std::string> found;

// The two lines that addr2line prints about `code`: function and file:line.
std::pair<std::string, std::string> source_of(const void* code) {
  static std::map<const void*, std::pair<std::string, std::string>> known;
  const auto [entry, fresh] = known.try_emplace(code);
  if (!fresh) { return entry->second; }
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) { program[0] = 0; }
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  const auto image = reinterpret_cast<std::uintptr_t>(__executable_start);
  const std::uintptr_t offset = image >= 0x10000000 ? address - image : address;  // position-independent or not
  char command[4300];
  std::snprintf(command, sizeof command, "addr2line -Csfe '%s' 0x%llx 2>/dev/null", program, static_cast<unsigned long long>(offset));
  char line[2][1024] = {"?", "?"};
  if (FILE* out = popen(command, "r")) {
    for (char* text : line) {
      if (std::fgets(text, 1024, out) == nullptr) { std::snprintf(text, 1024, "%p", code); }
      text[std::strcspn(text, "\n")] = 0;
    }
    line[1][std::strcspn(line[1], " ")] = 0;  // "file:line (discriminator n)"
    pclose(out);
  }
  return entry->second = {line[0], line[1]};
}

}  // namespace

const std::vector<std::string>& reports() { return found; }
std::string function_at(const void* code) { return source_of(code).first; }
std::string line_at(const void* code) { return source_of(code).second; }

#if !defined(EMULATOR_RACE)

void add_region(const void*, std::size_t, Kind) {}
void remove_region(const void*) {}
void forget(const void*) {}
void host_wrote(const void*, std::size_t) {}
void begin_launch(const void*, std::size_t) {}
void begin_block() {}
void block_barrier() {}
void access(const void*, std::size_t, bool, const void*) {}

#else
namespace {

constexpr std::size_t kGranule = 2;  // bytes; the smallest element of a kernel is bf16

struct Access {
  const void* code = nullptr;
  std::uint32_t block = 0;    // 0: none. Blocks of all launches are numbered through
  std::uint32_t barrier = 0;  // number of the last __syncthreads
  std::uint16_t thread = 0;
  std::uint16_t warp_epoch = 0;
};

/// The last write of a granule and two reads that nothing orders against each other.
struct Cell {
  Access write, read, other_read;
  bool written = false;
};

struct Region {
  const char* begin;
  std::size_t bytes;
  Kind kind;
  std::vector<Cell> cells;
};

std::map<const char*, Region>& regions() {
  static auto* all = new std::map<const char*, Region>;
  return *all;
}
Region* recent = nullptr;
const char *parameters_begin = nullptr, *parameters_end = nullptr;
bool unwritten_reported = false;
std::uint32_t block_number = 0, first_of_launch = 0, barrier_number = 0;

Region* region_at_or_before(const char* at) {
  if (recent != nullptr && at >= recent->begin && at < recent->begin + recent->bytes) { return recent; }
  auto next = regions().upper_bound(at);
  if (next == regions().begin()) { return nullptr; }
  return recent = &std::prev(next)->second;
}

void report(const std::string& text) {
  if (found.size() < kMostReports) { found.push_back(text); }
}

std::string place(const Region& region, const char* at) {
  const char* kind = region.kind == Kind::device ? "device memory" : "shared memory";
  return "byte " + std::to_string(at - region.begin) + " of " + std::to_string(region.bytes) + " bytes of " + kind;
}

/// Whether nothing orders `before` and the access `now` of another thread.
bool unordered(const Access& before, const Access& now) {
  if (before.block < first_of_launch || before.block == 0) { return false; }
  if (before.block != now.block) { return true; }
  if (before.thread == now.thread || before.barrier != now.barrier) { return false; }
  const bool same_warp = before.thread / 32 == now.thread / 32;
  return !same_warp || before.warp_epoch == now.warp_epoch;
}

void report_race(const Access& before, bool before_writes, const Access& now, bool writes, const std::string& what) {
  report(std::string("race: ") + (writes ? "write" : "read") + " at " + line_at(now.code) + " by thread " + std::to_string(now.thread) + " and " +
         (before_writes ? "write" : "read") + " at " + line_at(before.code) + " by thread " + std::to_string(before.thread) +
         (before.block == now.block ? " of the same block" : " of another block") + ", no barrier between, " + what);
}

void check(Cell& cell, const Access& now, bool write, const Region& region, const char* at) {
  if (unordered(cell.write, now)) { return report_race(cell.write, true, now, write, place(region, at)); }
  if (!write) {
    if (!cell.written && !unwritten_reported) {
      unwritten_reported = true;  // one a launch: a race or a whole tile behind it is to be seen too
      report("uninitialised: read at " + line_at(now.code) + " by thread " + std::to_string(now.thread) + " of what nobody wrote, " + place(region, at));
    }
    // What is ordered before this read needs no memory of its own: whatever is unordered with it is so with this too.
    (unordered(cell.read, now) ? cell.other_read : cell.read) = now;
    return;
  }
  for (const Access* read : {&cell.read, &cell.other_read}) {
    if (unordered(*read, now)) { return report_race(*read, false, now, true, place(region, at)); }
  }
  cell.write = now;
  cell.written = true;
}

}  // namespace

void add_region(const void* at, std::size_t bytes, Kind kind) {
  const char* begin = static_cast<const char*>(at);
  regions()[begin] = {begin, bytes, kind, std::vector<Cell>((bytes + kGranule - 1) / kGranule)};
  recent = nullptr;
}
void remove_region(const void* at) {
  regions().erase(static_cast<const char*>(at));
  recent = nullptr;
}
void forget(const void* at) {
  auto& cells = regions().at(static_cast<const char*>(at)).cells;
  cells.assign(cells.size(), Cell{});
}
void host_wrote(const void* at, std::size_t bytes) {
  Region* region = region_at_or_before(static_cast<const char*>(at));
  if (region == nullptr || bytes == 0) { return; }
  const auto first = static_cast<std::size_t>(static_cast<const char*>(at) - region->begin) / kGranule;
  for (std::size_t i = first; i < region->cells.size() && i * kGranule < first * kGranule + bytes; ++i) { region->cells[i].written = true; }
}

void begin_launch(const void* parameters, std::size_t bytes) {
  parameters_begin = static_cast<const char*>(parameters);
  parameters_end = parameters_begin + bytes;
  found.clear();
  unwritten_reported = false;
  first_of_launch = block_number + 1;
}
void begin_block() {
  ++block_number;
  ++barrier_number;
}
void block_barrier() { ++barrier_number; }

void access(const void* address, std::size_t bytes, bool write, const void* code) {
  const Thread* t = running_thread();
  if (t == nullptr || t->fiber == nullptr || t->fiber->on_stack(address)) { return; }
  const char* at = static_cast<const char*>(address);
  Region* region = region_at_or_before(at);
  const auto verb = [&] { return std::string(write ? "write" : "read") + " of " + std::to_string(bytes) + " bytes at " + line_at(code) + " by thread " + std::to_string(t->linear); };
  if (region == nullptr || at + bytes > region->begin + region->bytes) {
    if (!write && at >= __executable_start && at < end) { return; }  // a constant of the program
    if (!write && at >= parameters_begin && at < parameters_end) { return; }
    constexpr std::ptrdiff_t kNear = 4096;
    const bool close = region != nullptr && at - (region->begin + region->bytes) < kNear;
    fault("out of bounds: " + verb() + ", " + (close ? place(*region, at) : std::string("neither device nor shared memory")));
  }
  if ((bytes & (bytes - 1)) == 0 && reinterpret_cast<std::uintptr_t>(at) % bytes != 0) { fault("misaligned " + verb() + ", " + place(*region, at)); }
  if (found.size() >= kMostReports) { return; }
  const Access now{code, block_number, barrier_number, static_cast<std::uint16_t>(t->linear), t->warp_epoch};
  const auto first = static_cast<std::size_t>(at - region->begin) / kGranule;
  const std::size_t before = found.size();
  for (std::size_t i = first; i * kGranule < static_cast<std::size_t>(at - region->begin) + bytes && found.size() == before; ++i) {
    check(region->cells[i], now, write, *region, at);
  }
}

#endif
}  // namespace emulator::race

#if defined(EMULATOR_RACE)
// What -fsanitize=thread calls.
#define EMULATOR_ACCESS(name, bytes, write) \
  void name(void* at) { emulator::race::access(at, bytes, write, static_cast<char*>(__builtin_return_address(0)) - 1); }
#define EMULATOR_ACCESSES(bytes)                              \
  EMULATOR_ACCESS(__tsan_read##bytes, bytes, false)           \
  EMULATOR_ACCESS(__tsan_write##bytes, bytes, true)           \
  EMULATOR_ACCESS(__tsan_unaligned_read##bytes, bytes, false) \
  EMULATOR_ACCESS(__tsan_unaligned_write##bytes, bytes, true)
extern "C" {
EMULATOR_ACCESSES(1)
EMULATOR_ACCESSES(2)
EMULATOR_ACCESSES(4)
EMULATOR_ACCESSES(8)
EMULATOR_ACCESSES(16)
void __tsan_read_range(void* at, std::size_t bytes) { emulator::race::access(at, bytes, false, static_cast<char*>(__builtin_return_address(0)) - 1); }
void __tsan_write_range(void* at, std::size_t bytes) { emulator::race::access(at, bytes, true, static_cast<char*>(__builtin_return_address(0)) - 1); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_init(void) {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}
}
#endif
