// minirl tests/emulator/device_memory.h -- arrays on the (emulated) device for tests.
#pragma once
#include <cuda_runtime.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace emulator {

/// n elements of device memory, freed at the end of the scope.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t n) : size_(n) {
    void* at = nullptr;
    must(cudaMalloc(&at, n * sizeof(T)));
    data_ = static_cast<T*>(at);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    must(cudaMemcpyAsync(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice, nullptr));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> out(size_);
    must(cudaMemcpyAsync(out.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost, nullptr));
    must(cudaStreamSynchronize(nullptr));
    return out;
  }

 private:
  static void must(cudaError_t error) {
    if (error != cudaSuccess) { throw std::runtime_error(cudaGetErrorString(error)); }
  }
  T* data_ = nullptr;
  std::size_t size_;
};

}  // namespace emulator
