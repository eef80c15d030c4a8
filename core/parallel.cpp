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

// Workers spin for a few microseconds between two kernels (decode steps launch hundreds a
// millisecond), then sleep. On an oversubscribed machine the spin is short enough not to matter.
constexpr int kSpins = 2000;

class Pool {
 public:
  static Pool& instance() {
    static Pool pool;
    return pool;
  }

  // Runs job(part) for part in [0, parts) on `parts` threads, the caller among them.
  void run(int parts, const RangeFn& job) {
    std::lock_guard<std::mutex> one_caller(caller_);
    ensure(parts - 1);
    job_ = &job;
    pending_.store(parts - 1, std::memory_order_relaxed);
    for (int w = 0; w < parts - 1; ++w) { wake(*workers_[static_cast<std::size_t>(w)]); }
    inside_pool = true;
    job(0, 1);
    inside_pool = false;
    for (int spin = 0; pending_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) { relax(); } else { std::this_thread::yield(); }
    }
    job_ = nullptr;
  }

  ~Pool() {
    for (auto& w : workers_) {
      w->stop.store(true);
      wake(*w);
      w->thread.join();
    }
  }

 private:
  struct Worker {
    std::atomic<unsigned> ticket{0};
    std::atomic<bool> asleep{false}, stop{false};
    std::mutex mutex;
    std::condition_variable signal;
    std::thread thread;
  };

  void wake(Worker& w) {
    w.ticket.fetch_add(1, std::memory_order_seq_cst);
    if (w.asleep.load(std::memory_order_seq_cst)) {
      std::lock_guard<std::mutex> lock(w.mutex);
      w.signal.notify_one();
    }
  }

  void ensure(int count) {
    while (static_cast<int>(workers_.size()) < count) {
      workers_.push_back(std::make_unique<Worker>());
      Worker& w = *workers_.back();
      const Index part = static_cast<Index>(workers_.size());
      w.thread = std::thread([this, &w, part] { work(w, part); });
    }
  }

  void work(Worker& w, Index part) {
    inside_pool = true;
    unsigned seen = 0;
    while (true) {
      for (int spin = 0; w.ticket.load(std::memory_order_acquire) == seen; ++spin) {
        if (spin < kSpins) {
          relax();
          continue;
        }
        std::unique_lock<std::mutex> lock(w.mutex);
        w.asleep.store(true, std::memory_order_seq_cst);
        w.signal.wait(lock, [&] { return w.ticket.load(std::memory_order_seq_cst) != seen; });
        w.asleep.store(false, std::memory_order_seq_cst);
      }
      ++seen;
      if (w.stop.load()) { return; }
      (*job_)(part, part + 1);
      pending_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::mutex caller_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<int> pending_{0};
  const RangeFn* job_ = nullptr;
};

}  // namespace

void parallel_ranges(int threads, Index n, Index grain, RangeFn body) {
  if (n <= 0) { return; }
  const Index blocks = (n + grain - 1) / grain;
  const Index parts = std::min<Index>(threads, blocks);
  if (parts <= 1 || inside_pool) {
    body(0, n);
    return;
  }
  const auto job = [&](Index part, Index) {
    const Index begin = blocks * part / parts * grain;
    const Index end = std::min(n, blocks * (part + 1) / parts * grain);
    if (begin < end) { body(begin, end); }
  };
  Pool::instance().run(static_cast<int>(parts), job);
}

void parallel_items(int threads, Index n, RangeFn body) {
  if (n <= 0) { return; }
  const Index parts = std::min<Index>(threads, n);
  if (parts <= 1 || inside_pool) {
    for (Index i = 0; i < n; ++i) { body(i, i + 1); }
    return;
  }
  std::atomic<Index> next{0};
  const auto job = [&](Index, Index) {
    for (Index i = next.fetch_add(1, std::memory_order_relaxed); i < n; i = next.fetch_add(1, std::memory_order_relaxed)) { body(i, i + 1); }
  };
  Pool::instance().run(static_cast<int>(parts), job);
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
