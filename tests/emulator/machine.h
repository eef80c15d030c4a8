// minirl tests/emulator/machine.h -- one test case on two machines: the CPU and the emulated device.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/kernels.h"
#include "kernels/rows.h"
#include "tests/emulator/engine.h"

namespace minirl::testing {

/// Where a case's arrays live and its programs run. What the case changes is compared between machines.
class Machine {
 public:
  /// Null: the CPU.
  explicit Machine(kernels::Backend* backend) : backend_(backend) {}
  ~Machine() {
    for (const auto& block : blocks_) { backend_->release(block.device); }
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  kernels::Backend* backend() const { return backend_; }

  /// An array that is read.
  template <class T>
  const T* in(const std::vector<T>& values) {
    return put(values.data(), values.size(), false);
  }
  /// An array that is changed, from these values.
  template <class T>
  T* out(std::vector<T>& values) {
    return put(values.data(), values.size(), true);
  }
  template <class Program>
  void rows(Index n, const Program& program) {
    if (backend_ == nullptr) {
      kernels::for_rows(Exec{}, n, 1, program);
    } else {
      backend_->rows(typeid(Program).name(), &program, n);
    }
  }
  /// Brings what was changed to the vectors.
  void finish() {
    for (const auto& block : blocks_) {
      if (block.changed) { backend_->copy_out(block.host, block.device, block.bytes); }
    }
  }

 private:
  struct Block {
    void *host, *device;
    std::size_t bytes;
    bool changed;
  };

  template <class T>
  T* put(const T* values, std::size_t n, bool changed) {
    T* host = const_cast<T*>(values);
    if (backend_ == nullptr) { return host; }
    const std::size_t bytes = n * sizeof(T);
    void* device = backend_->allocate(bytes);
    backend_->copy_in(device, host, bytes);
    blocks_.push_back({host, device, bytes, changed});
    return static_cast<T*>(device);
  }

  kernels::Backend* backend_;
  std::vector<Block> blocks_;
};

/// The emulated device, for the whole process.
inline kernels::Backend& emulated_device() {
  static const std::unique_ptr<kernels::Backend> device(kernels::cuda::make_backend(nullptr));
  return *device;
}

/// Orders of threads under which a case is run.
inline constexpr std::uint64_t kThreadOrders = 3;

class UseOrder {
 public:
  explicit UseOrder(std::uint64_t order) { emulator::options().order = order; }
  ~UseOrder() { emulator::options().order = 0; }
  UseOrder(const UseOrder&) = delete;
  UseOrder& operator=(const UseOrder&) = delete;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace minirl::testing
