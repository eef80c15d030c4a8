// minirl core/stopwatch.h -- wall-clock seconds from the monotonic clock. For people; no number of a run reads it.
#pragma once
#include <chrono>

namespace minirl {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace minirl
