// minirl rl/progress_line.h -- one line a step on stderr, for people.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/stopwatch.h"

namespace minirl::rl {

/// "12.3 s", "4 min 05 s", "2 h 10 min"
std::string duration(double seconds);

class ProgressLine {
 public:
  enum class Style : unsigned char { line, plain, off };
  /// `mode` is runtime.progress: "auto" is `line` where `stream` is a terminal, else `plain`.
  ProgressLine(const std::string& mode, std::FILE* stream);
  ~ProgressLine();

  /// Starts a phase that has `done` of `total` steps behind it.
  void start(std::string_view phase, Index done, Index total);
  /// A finished step. `text` is what it has to say; step number, memory and remaining time are
  /// added. In plain style a fast phase prints at most one line a `kPlainSeconds`, and its first
  /// and last.
  void step(Index step, std::string_view text);
  /// A line of its own, in every style but `off`.
  void note(std::string_view text);

  static constexpr double kPlainSeconds = 5.0;

 private:
  void clear();
  Style style_;
  std::FILE* stream_;
  std::string phase_;
  Index first_ = 0, total_ = 0;
  bool open_ = false;  // an unfinished line stands on the terminal
  double printed_at_ = 0;
  Stopwatch watch_;
};

}  // namespace minirl::rl
