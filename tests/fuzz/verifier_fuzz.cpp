// libFuzzer target of the answer verifier (docs/rewards/math.md says how to run it). The first byte
// chooses the gold and the extraction, or, with its high bit, where the input is cut into gold and
// answer. Checks beyond the sanitizers': counted work, thread CPU time and heap of every single
// input, symmetry of "right", no thrown exception.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <malloc.h>
#include <sanitizer/allocator_interface.h>
#include <time.h>

#include "rl/verifier/budget.h"
#include "rl/verifier/verify.h"

namespace {

#if __has_feature(address_sanitizer)
constexpr double kMostMilliseconds = 250;      // instrumented code is several times slower
#else
constexpr double kMostMilliseconds = 50;       // of CPU time, a verdict
#endif
constexpr std::int64_t kMostBytes = 64 << 20;  // of heap, beyond what was there before
thread_local std::int64_t live_bytes = 0;      // since the input began
thread_local std::int64_t most_bytes = 0;
double worst_ms = 0;
std::int64_t worst_bytes = 0;

void allocated(std::int64_t bytes) {
  live_bytes += bytes;
  most_bytes = live_bytes > most_bytes ? live_bytes : most_bytes;
}

#if __has_feature(address_sanitizer)
void on_malloc(const volatile void*, std::size_t size) {
  allocated(static_cast<std::int64_t>(size));
}
void on_free(const volatile void* block) {
  if (block != nullptr) {
    allocated(
        -static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(block))));
  }
}
#endif

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

void report() {
  std::fprintf(stderr, "slowest input: %.1f ms of CPU; largest heap: %.2f MiB\n", worst_ms,
               static_cast<double>(worst_bytes) / (1 << 20));
}

/// Runs one verdict and aborts when it costs too much.
template <class Work>
auto measured(const Work& work) {
  live_bytes = most_bytes = 0;
  const double begin = cpu_ms();
  auto out = work();
  const double ms = cpu_ms() - begin;
  worst_ms = ms > worst_ms ? ms : worst_ms;
  worst_bytes = most_bytes > worst_bytes ? most_bytes : worst_bytes;
  if (ms > kMostMilliseconds || most_bytes > kMostBytes) {
    std::fprintf(stderr, "too costly: %.1f ms, %.2f MiB, %lld units\n", ms,
                 static_cast<double>(most_bytes) / (1 << 20), static_cast<long long>(out.work));
    std::abort();
  }
  if (out.work > minirl::rl::verifier::Budget::kUnits) {
    std::abort();
  }
  return out;
}

}  // namespace

#if !__has_feature(address_sanitizer)
// Without the sanitizer every block of C++ is counted here; the verifier uses no other.
void* operator new(std::size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) {
    std::abort();
  }
  allocated(static_cast<std::int64_t>(malloc_usable_size(block)));
  return block;
}
void operator delete(void* block) noexcept {
  if (block != nullptr) {
    allocated(-static_cast<std::int64_t>(malloc_usable_size(block)));
  }
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  operator delete(block);
}
#endif

extern "C" int LLVMFuzzerInitialize(int*, char***) {
#if __has_feature(address_sanitizer)
  __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
#endif
  std::atexit(report);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace minirl::rl::verifier;
  static constexpr std::string_view kGolds[] = {
      "5", "\\frac{1}{2}",  "x^2+1",   "\\sqrt{2}", "(0,1]", "1,2", "\\pm 3", "x=4", "\\text{even}",
      "C", "30\\text{ cm}", "\\sin x", "204_5",     "x<3",   "2^n", "7:32"};
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string_view gold = kGolds[data[0] % 16];
  std::string_view answer = input;
  if (data[0] >= 128) {
    const std::size_t cut = input.size() * (data[0] - 128U) / 128;
    gold = input.substr(0, cut);
    answer = input.substr(cut);
  }
  const Verdict forth = measured([&] { return compare(gold, answer); });
  if (forth.outcome == Outcome::right &&
      measured([&] { return compare(answer, gold); }).outcome == Outcome::wrong) {
    std::fprintf(stderr, "not symmetric\n");
    std::abort();
  }
  const auto where = static_cast<Extraction>(data[0] / 16 % 4);
  measured([&] { return verify(gold, input, where); });
  return 0;
}
