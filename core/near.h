// minirl core/near.h -- host arrays where a kernel can read them.
#pragma once
#include "core/tensor.h"

namespace minirl {

/// Values for a kernel that runs on `exec`: the array itself on the CPU, else a copy that lives as long as this.
template <class T>
class NearArray {
 public:
  NearArray(const Exec& exec, std::span<const T> values) : data_(values.data()) {
    if (exec.arena == nullptr || exec.arena->memory() == nullptr) { return; }
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    copy_ = Tensor::from<std::uint8_t>({static_cast<Index>(values.size_bytes())}, {bytes, values.size_bytes()}).near(exec);
    data_ = reinterpret_cast<const T*>(copy_.data<std::uint8_t>());
  }
  const T* data() const { return data_; }

 private:
  Tensor copy_;
  const T* data_;
};

}  // namespace minirl
