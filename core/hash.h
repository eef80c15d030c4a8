// minirl core/hash.h -- SHA-256 of bits: the fingerprint of weights, batches and configs.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace minirl {

/// Incremental SHA-256. Tensors are hashed as dtype, shape and raw little-endian bytes.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  Hasher& add(std::span<const std::byte> bytes);
  Hasher& add(std::string_view text);  // length, then bytes
  Hasher& add(const Tensor& tensor);
  template <class T> Hasher& add_value(const T& value) { return add(std::as_bytes(std::span(&value, 1))); }
  /// 64 lower-case hexadecimal digits. The hasher cannot be used afterwards.
  std::string hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace minirl
