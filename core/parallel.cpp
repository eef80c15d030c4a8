#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace minirl {
namespace {

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

thread_local bool inside_pool = false;

// Workers spin for some ten microseconds between two kernels (decoding launches hundreds a millisecond),
// then sleep. Ranges are cut several times finer than there are threads: on a machine that does
// other work too, whoever is running takes what is left.
constexpr int kSpins = 2000;
constexpr Index kRangesPerThread = 4;

class Pool {
 public:
  static Pool& instance() {
    static Pool pool;
    return pool;
  }

  // Runs job(i) for every i in [0, count) on at most `threads` threads, the caller among them.
  void run(int threads, Index count, const RangeFn& job) {
    std::lock_guard<std::mutex> one_caller(caller_);
    ensure(threads - 1);
    job_ = &job;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    for (int w = 0; w < threads - 1; ++w) { post(*workers_[static_cast<std::size_t>(w)]); }
    inside_pool = true;
    drain();
    inside_pool = false;
    // A worker that has not begun has nothing left to do: it is called off instead of waited for.
    for (int w = 0; w < threads - 1; ++w) {
      std::atomic<State>& state = workers_[static_cast<std::size_t>(w)]->state;
      State posted = State::posted;
      if (state.compare_exchange_strong(posted, State::idle, std::memory_order_acq_rel)) { continue; }
      for (int spin = 0; state.load(std::memory_order_acquire) != State::idle; ++spin) {
        if (spin < kSpins) { relax(); } else { std::this_thread::yield(); }
      }
    }
  }

  ~Pool() {
    for (auto& w : workers_) {
      {
        std::lock_guard<std::mutex> lock(w->mutex);
        w->state.store(State::stop);
        w->signal.notify_one();
      }
      w->thread.join();
    }
  }

 private:
  enum class State : int { idle, posted, running, stop };
  struct Worker {
    std::atomic<State> state{State::idle};
    std::atomic<bool> asleep{false};
    std::mutex mutex;
    std::condition_variable signal;
    std::thread thread;
  };

  void drain() {
    for (Index i = next_.fetch_add(1, std::memory_order_relaxed); i < count_; i = next_.fetch_add(1, std::memory_order_relaxed)) { (*job_)(i, i + 1); }
  }

  static void post(Worker& w) {
    w.state.store(State::posted, std::memory_order_seq_cst);
    if (w.asleep.load(std::memory_order_seq_cst)) {
      std::lock_guard<std::mutex> lock(w.mutex);
      w.signal.notify_one();
    }
  }

  void ensure(int count) {
    while (static_cast<int>(workers_.size()) < count) {
      workers_.push_back(std::make_unique<Worker>());
      Worker& w = *workers_.back();
      w.thread = std::thread([this, &w] { work(w); });
    }
  }

  void work(Worker& w) {
    inside_pool = true;
    while (true) {
      for (int spin = 0; w.state.load(std::memory_order_acquire) == State::idle; ++spin) {
        if (spin < kSpins) {
          relax();
          continue;
        }
        std::unique_lock<std::mutex> lock(w.mutex);
        w.asleep.store(true, std::memory_order_seq_cst);
        w.signal.wait(lock, [&] { return w.state.load(std::memory_order_seq_cst) != State::idle; });
        w.asleep.store(false, std::memory_order_seq_cst);
      }
      State posted = State::posted;
      if (w.state.compare_exchange_strong(posted, State::running, std::memory_order_acq_rel)) {
        drain();
        w.state.store(State::idle, std::memory_order_release);
      } else if (posted == State::stop) {
        return;
      }
    }
  }

  std::mutex caller_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<Index> next_{0};
  Index count_ = 0;
  const RangeFn* job_ = nullptr;
};

}  // namespace

void parallel_ranges(int threads, Index n, Index grain, RangeFn body) {
  if (n <= 0) { return; }
  const Index blocks = (n + grain - 1) / grain;
  if (threads <= 1 || blocks <= 1 || inside_pool) {
    body(0, n);
    return;
  }
  const Index parts = std::min<Index>(threads * kRangesPerThread, blocks);
  const auto job = [&](Index part, Index) {
    const Index begin = blocks * part / parts * grain;
    const Index end = std::min(n, blocks * (part + 1) / parts * grain);
    if (begin < end) { body(begin, end); }
  };
  Pool::instance().run(static_cast<int>(std::min<Index>(threads, parts)), parts, job);
}

void parallel_items(int threads, Index n, RangeFn body) {
  if (n <= 0) { return; }
  if (threads <= 1 || n == 1 || inside_pool) {
    for (Index i = 0; i < n; ++i) { body(i, i + 1); }
    return;
  }
  Pool::instance().run(static_cast<int>(std::min<Index>(threads, n)), n, body);
}

int default_threads() {
  if (const char* text = std::getenv("MINIRL_THREADS"); text != nullptr && *text != '\0') {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (*end != '\0' || n < 1 || n > 1024) {
      fail(Exit::usage, fmt::format("MINIRL_THREADS={}: a whole number from 1 to 1024 is needed", text));
    }
    return static_cast<int>(n);
  }
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace minirl
