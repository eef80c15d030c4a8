#include "tests/emulator/engine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/emulator/fiber.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/race.h"
#include "tests/emulator/thread.h"

namespace emulator {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::size_t kSharedByDefault = 48 * 1024;

std::map<const void*, std::size_t> dynamic_allowed;  // by kernel
Counts total;

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

struct SharedArray {
  const void* tag;
  void* data;
  std::size_t bytes;
};

class Grid {
 public:
  explicit Grid(const Launch& launch) : launch_(launch), block_threads_(launch.block.x * launch.block.y * launch.block.z) {
    check_launch();
    threads_.resize(block_threads_);
    warps_.resize((block_threads_ + kWarp - 1) / kWarp);
    for (unsigned i = 0; i < block_threads_; ++i) {
      Thread& t = threads_[i];
      t.linear = i;
      t.index = {i % launch.block.x, i / launch.block.x % launch.block.y, i / (launch.block.x * launch.block.y)};
    }
    if (launch.dynamic_shared > 0) { add_shared(&dynamic_tag_, launch.dynamic_shared); }
  }
  ~Grid() {
    for (const SharedArray& a : shared_) { free_shared(a.data); }
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  void run() {
    const std::uint64_t blocks = std::uint64_t{launch_.grid.x} * launch_.grid.y * launch_.grid.z;
    std::vector<std::uint64_t> order(blocks);
    for (std::uint64_t b = 0; b < blocks; ++b) { order[b] = options().order == 1 ? blocks - 1 - b : b; }
    if (options().order > 1) {
      for (std::uint64_t b = blocks; b > 1; --b) { std::swap(order[b - 1], order[random(b)]); }
    }
    for (const std::uint64_t b : order) {
      run_block(b);
      if (!error_.empty()) { break; }
    }
    for (const std::string& report : race::reports()) { error_ += (error_.empty() ? "" : "\n  ") + report; }
    if (!error_.empty()) { throw Error("kernel " + race::function_at(launch_.kernel) + ": " + error_); }
  }

  [[noreturn]] void fault(const std::string& message) {
    error_ = message + "; " + describe(*running);
    running->fiber->suspend();
    std::abort();  // nobody resumes a faulty fiber
  }

  void barrier(Site site) {
    Thread& t = *running;
    if (at_barrier_ > 0 && !(site == barrier_site_)) {
      fault("divergent __syncthreads: this thread is at " + where(site) + ", others wait at " + where(barrier_site_));
    }
    barrier_site_ = site;
    ++at_barrier_;
    t.wait("__syncthreads", site);
    if (at_barrier_ == block_threads_) {
      release_barrier();
    } else if (at_barrier_ == live_) {
      fault("__syncthreads at " + where(site) + ": " + std::to_string(block_threads_ - live_) + " threads have left the kernel, the others wait");
    }
    stop(t);
  }

  void warp_operation(const WarpOperation& operation, std::uint32_t mask, void* argument, Site site) {
    Thread& t = *running;
    Warp& warp = warps_[t.warp()];
    if ((mask >> t.lane() & 1U) == 0) {
      fault(std::string(operation.name) + " at " + where(site) + ": lane " + std::to_string(t.lane()) + " is not in its own mask " + hex(mask));
    }
    if ((mask & ~warp.live) != 0) { fault(absent_lanes(operation, site, mask, warp.live)); }
    t.wait(operation.name, site);
    t.operation = &operation;
    t.mask = mask;
    t.argument = argument;
    warp.waiting |= 1U << t.lane();
    complete(t, warp);
    stop(t);
  }

  void* shared_array(const void* tag, std::size_t bytes) {
    for (const SharedArray& a : shared_) {
      if (a.tag == tag) { return a.data; }
    }
    const void* data = add_shared(tag, bytes);
    std::size_t sum = 0;
    for (const SharedArray& a : shared_) { sum += a.bytes; }
    if (sum - launch_.dynamic_shared > kSharedByDefault || sum > options().shared_limit) { fault(std::to_string(sum) + " bytes of shared memory in a block"); }
    return const_cast<void*>(data);
  }
  void* dynamic_shared() const { return launch_.dynamic_shared > 0 ? shared_.front().data : nullptr; }

  const Launch& launch() const { return launch_; }
  Thread* running = nullptr;
  uint3 block_index{};

 private:
  struct Warp {
    std::uint32_t live = 0, waiting = 0;  // lanes
  };

  void check_launch() const {
    const dim3 g = launch_.grid, b = launch_.block;
    const std::uint64_t threads = std::uint64_t{b.x} * b.y * b.z;
    std::string wrong;
    if (threads == 0 || threads > 1024 || b.z > 64) { wrong = "a block of " + std::to_string(threads) + " threads"; }
    if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > 0x7fffffffU || g.y > 65535 || g.z > 65535) { wrong = "a grid of " + std::to_string(g.x) + " x " + std::to_string(g.y) + " x " + std::to_string(g.z) + " blocks"; }
    const auto allowed = dynamic_allowed.find(launch_.kernel);
    if (launch_.dynamic_shared > (allowed == dynamic_allowed.end() ? kSharedByDefault : allowed->second)) {
      wrong = std::to_string(launch_.dynamic_shared) + " bytes of dynamic shared memory without cudaFuncSetAttribute";
    }
    if (!wrong.empty()) { throw Error("kernel " + race::function_at(launch_.kernel) + " cannot be launched: " + wrong); }
  }

  void* add_shared(const void* tag, std::size_t bytes) {
    shared_.push_back({tag, allocate_shared(bytes), bytes});
    std::memset(shared_.back().data, 0xff, bytes);
    return shared_.back().data;
  }

  void run_block(std::uint64_t b) {
    block_index = {static_cast<unsigned>(b % launch_.grid.x), static_cast<unsigned>(b / launch_.grid.x % launch_.grid.y),
                   static_cast<unsigned>(b / (std::uint64_t{launch_.grid.x} * launch_.grid.y))};
    ++total.blocks;
    total.threads += block_threads_;
    race::begin_block();
    for (const SharedArray& a : shared_) {
      std::memset(a.data, 0xff, a.bytes);  // NaN, or an index far outside
      race::forget(a.data);
    }
    live_ = block_threads_;
    at_barrier_ = 0;
    ready_.clear();
    for (unsigned w = 0; w < warps_.size(); ++w) {
      const unsigned lanes = std::min(kWarp, block_threads_ - w * kWarp);
      warps_[w] = {lanes == kWarp ? ~0U : (1U << lanes) - 1U, 0};
    }
    for (unsigned i = 0; i < block_threads_; ++i) {
      threads_[i].begin();
      make_ready(threads_[i]);
    }
    in_launch_order();
    while (!ready_.empty() && error_.empty()) { step(pick()); }
    if (live_ > 0 && error_.empty()) { error_ = deadlock(); }
    for (Thread& t : threads_) { give_fiber(std::move(t.fiber)); }
  }

  void step(Thread& t) {
    running = &t;
    if (t.fiber == nullptr) {
      t.fiber = take_fiber();
      t.fiber->start(launch_.body, launch_.arguments);
    }
    t.fiber->resume();
    if (t.fiber->finished()) { leave(t); }
    running = nullptr;
  }

  void leave(Thread& t) {
    give_fiber(std::move(t.fiber));
    t.done = true;
    if (!t.copies.empty()) { error_ = std::to_string(t.copies.size()) + " asynchronous copies were not waited for; " + describe(t); }
    --live_;
    Warp& warp = warps_[t.warp()];
    warp.live &= ~(1U << t.lane());
    for (unsigned l = 0; l < kWarp; ++l) {
      if ((warp.waiting >> l & 1U) == 0) { continue; }
      const Thread& other = threads_[t.warp() * kWarp + l];
      if ((other.mask >> t.lane() & 1U) != 0) { error_ = absent_lanes(*other.operation, other.site, other.mask, warp.live) + "; the last to leave was " + describe(t); }
    }
    if (at_barrier_ > 0 && at_barrier_ == live_) {
      error_ = "__syncthreads at " + where(barrier_site_) + ": " + std::to_string(block_threads_ - live_) + " threads have left the kernel, the others wait; the last to leave was " + describe(t);
    }
  }

  void stop(Thread& t) {
    ++total.waits;
    t.fiber->suspend();
  }

  void make_ready(Thread& t) {
    t.waits_for = nullptr;
    ready_.push_back(&t);
  }

  void release_barrier() {
    at_barrier_ = 0;
    race::block_barrier();
    for (Thread& t : threads_) { make_ready(t); }
    in_launch_order();
  }

  // pick() takes from the back.
  void in_launch_order() {
    if (options().order == 0) { std::reverse(ready_.begin(), ready_.end()); }
  }

  Thread& pick() {
    if (options().order > 1) { std::swap(ready_.back(), ready_[random(ready_.size())]); }
    Thread* t = ready_.back();
    ready_.pop_back();
    return *t;
  }

  void complete(const Thread& t, Warp& warp) {
    if ((warp.waiting & t.mask) != t.mask) { return; }
    void* arguments[kWarp] = {};
    for (unsigned l = 0; l < kWarp; ++l) {
      if ((t.mask >> l & 1U) == 0) { continue; }
      const Thread& other = threads_[t.warp() * kWarp + l];
      if (other.mask != t.mask || other.operation != t.operation || !(other.site == t.site)) { return; }  // waits for others: a deadlock in the end
      arguments[l] = other.argument;
    }
    t.operation->run(arguments, t.mask);
    warp.waiting &= ~t.mask;
    for (unsigned l = kWarp; l-- > 0;) {
      if ((t.mask >> l & 1U) == 0) { continue; }
      Thread& other = threads_[t.warp() * kWarp + l];
      if (t.operation->orders_memory) { ++other.warp_epoch; }
      make_ready(other);
    }
  }

  static std::string absent_lanes(const WarpOperation& operation, Site site, std::uint32_t mask, std::uint32_t live) {
    return std::string(operation.name) + " at " + where(site) + ": mask " + hex(mask) + " names lanes that do not exist or have left (live: " + hex(live) + ")";
  }

  std::string describe(const Thread& t) const {
    const auto triple = [](uint3 v) { return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")"; };
    return "block " + triple(block_index) + " thread " + triple(t.index);
  }

  std::string deadlock() const {
    std::map<std::string, std::pair<unsigned, unsigned>> groups;  // what -> how many, the first
    for (const Thread& t : threads_) {
      std::string what = t.done ? "left the kernel" : std::string("wait in ") + (t.waits_for != nullptr ? t.waits_for : "?") + " at " + where(t.site);
      if (!t.done && t.operation != nullptr) { what += " with mask " + hex(t.mask); }
      ++groups.try_emplace(what, 0U, t.linear).first->second.first;
    }
    std::string text = "deadlock in block (" + std::to_string(block_index.x) + ", " + std::to_string(block_index.y) + ", " + std::to_string(block_index.z) + "), nobody can go on:";
    for (const auto& [what, group] : groups) { text += "\n    " + std::to_string(group.first) + " threads (the first is " + std::to_string(group.second) + ") " + what; }
    return text;
  }

  static std::vector<std::unique_ptr<Fiber>>& idle_fibers() {
    static std::vector<std::unique_ptr<Fiber>> idle;
    return idle;
  }
  static std::unique_ptr<Fiber> take_fiber() {
    auto& idle = idle_fibers();
    if (idle.empty()) { return std::make_unique<Fiber>(); }
    auto fiber = std::move(idle.back());
    idle.pop_back();
    return fiber;
  }
  static void give_fiber(std::unique_ptr<Fiber> fiber) {
    if (fiber != nullptr) { idle_fibers().push_back(std::move(fiber)); }
  }

  std::uint64_t random(std::uint64_t n) {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (random_ >> 33) % n;
  }

  static constexpr char dynamic_tag_ = 0;
  const Launch& launch_;
  unsigned block_threads_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Thread*> ready_;
  std::vector<SharedArray> shared_;
  unsigned live_ = 0, at_barrier_ = 0;
  Site barrier_site_{};
  std::string error_;
  std::uint64_t random_ = options().order * 0x9E3779B97F4A7C15ULL;
};

Grid* grid = nullptr;  // that runs now

}  // namespace

Options& options() {
  static Options o;
  return o;
}
const Counts& counts() { return total; }

void run(const Launch& launch) {
  if (grid != nullptr) { throw Error("a kernel cannot launch a kernel"); }
  Grid all(launch);
  grid = &all;
  struct End {
    ~End() {
      grid = nullptr;
      hide_device_memory(true);
    }
  } end;
  ++total.launches;
  race::begin_launch(launch.arguments, launch.argument_bytes);
  hide_device_memory(false);
  all.run();
}

bool allow_dynamic_shared(const void* kernel, std::size_t bytes) {
  if (bytes > options().shared_limit) { return false; }
  dynamic_allowed[kernel] = bytes;
  return true;
}

const Thread* running_thread() { return grid == nullptr ? nullptr : grid->running; }

uint3 thread_index() { return grid->running->index; }
uint3 block_index() { return grid->block_index; }
dim3 block_extent() { return grid->launch().block; }
dim3 grid_extent() { return grid->launch().grid; }
unsigned lane() { return grid->running->lane(); }
void block_barrier(Site site) { grid->barrier(site); }
void warp_operation(const WarpOperation& operation, std::uint32_t mask, void* argument, Site site) { grid->warp_operation(operation, mask, argument, site); }
void* shared_array(const void* tag, std::size_t bytes) { return grid->shared_array(tag, bytes); }
void* dynamic_shared() { return grid->dynamic_shared(); }
void fault(const std::string& message) { grid->fault(message); }

std::string where(Site site) {
  const char* slash = site.file == nullptr ? nullptr : std::strrchr(site.file, '/');
  return std::string(slash != nullptr ? slash + 1 : site.file != nullptr ? site.file : "?") + ":" + std::to_string(site.line);
}

}  // namespace emulator
