// minirl core/parallel.h -- one thread pool for the whole process.
// Work is cut into contiguous ranges; nothing but the assignment of ranges to threads depends on the
// thread count, so no result does (R2, R3).
#pragma once
#include <type_traits>

#include "core/error.h"

namespace minirl {

/// A borrowed callable `void(Index begin, Index end)`; no allocation, lives as long as the call.
class RangeFn {
 public:
  template <class F>
  RangeFn(const F& f)  // NOLINT(google-explicit-constructor): meant to bind lambdas at the call
      : object_(&f), call_([](const void* o, Index b, Index e) { (*static_cast<const F*>(o))(b, e); }) {}
  void operator()(Index begin, Index end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, Index, Index);
};

/// Runs `body` over [0, n) in contiguous ranges whose borders are multiples of `grain`, on at most `threads`
/// threads, and returns when all are done. `body` must not throw. Nested calls run inline.
void parallel_ranges(int threads, Index n, Index grain, RangeFn body);

/// Runs `body(i, i + 1)` for every i in [0, n); threads take the next i from a shared counter. For
/// items of unequal cost that write to disjoint places.
void parallel_items(int threads, Index n, RangeFn body);

/// Threads that the pool may use: the machine's, or the environment variable MINIRL_THREADS.
int default_threads();

}  // namespace minirl
