// minirl core/error.h -- one error type, two faults: the user's and ours.
// Checks are on in every build; there is no assert. Exceptions cross no thread boundary.
#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/index.h"

namespace minirl {

/// Process exit codes (docs/formats.md). Verification tools and CI scripts rely on them.
enum class Exit : int {
  ok = 0,
  runtime = 1,       // our fault, or the machine's (disk full, ...)
  usage = 2,         // command line, config, checkpoint, tokenizer or other input
  mismatch = 3,      // a verification found a difference
  invariant = 4,     // a tripwire or the non-finite guard stopped the run
  out_of_memory = 5,
  data = 6,          // data set or reward
  interrupted = 130, // SIGINT, after a checkpoint
  terminated = 143,  // SIGTERM, after a checkpoint
};

/// The one exception type. `what()` says what, where and (for the user's faults) what to do.
class Error : public std::runtime_error {
 public:
  Error(Exit exit_code, const std::string& message) : std::runtime_error(message), code_(exit_code) {}
  Exit code() const { return code_; }

 private:
  Exit code_;
};

/// Throws Error. `hint` (may be empty) is printed on its own line and says what to do.
[[noreturn]] void fail(Exit code, std::string message, std::string_view hint = {});

/// Throws Error with Exit::runtime for a broken precondition of our own code.
[[noreturn]] void fail_check(const char* expression, const char* file, int line, const std::string& message);

}  // namespace minirl

/// A precondition of our own code: prints expression, message and place. Always on.
#define MINIRL_CHECK(condition, ...)                                                               \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      ::minirl::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__));            \
    }                                                                                              \
  } while (false)
