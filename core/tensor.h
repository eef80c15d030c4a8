// minirl core/tensor.h -- a contiguous row-major tensor over reference-counted storage.
#pragma once
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "core/arena.h"
#include "core/dtype.h"
#include "core/exec.h"

namespace minirl {

struct Shape {
  static constexpr int kMaxRank = 4;
  int rank = 0;
  std::array<Index, kMaxRank> dim{1, 1, 1, 1};

  Shape() = default;
  Shape(std::initializer_list<Index> dims);
  Index numel() const { return dim[0] * dim[1] * dim[2] * dim[3]; }
  Index operator[](int i) const { return dim[static_cast<std::size_t>(i)]; }
  Index last() const { return rank == 0 ? 1 : dim[static_cast<std::size_t>(rank - 1)]; }
  bool operator==(const Shape&) const = default;
  std::string str() const;  // "(3, 128)"
};

/// Value type: copies share storage. The element type is checked on every access.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised storage from exec.arena (or the process-wide arena).
  static Tensor empty(Shape shape, DType dtype, const Exec& exec = {});
  static Tensor zeros(Shape shape, DType dtype, const Exec& exec = {});
  template <class T> static Tensor from(Shape shape, std::span<const T> values, const Exec& exec = {}) {
    MINIRL_CHECK(shape.numel() == static_cast<Index>(values.size()), "{} holds {} values, not {}", shape.str(), shape.numel(), values.size());
    Tensor t = empty(shape, DTypeOf<T>::value, exec);
    if (!values.empty()) { std::memcpy(t.raw(), values.data(), values.size_bytes()); }
    return t;
  }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Index numel() const { return shape_.numel(); }
  Index bytes() const { return numel() * size_of(dtype_); }
  Index rows() const { return shape_.rank == 0 ? 1 : numel() / std::max<Index>(1, shape_.last()); }  // product of all but the last

  template <class T> T* data() {
    check_type(DTypeOf<T>::value);
    return reinterpret_cast<T*>(raw());
  }
  template <class T> const T* data() const {
    check_type(DTypeOf<T>::value);
    return reinterpret_cast<const T*>(raw());
  }
  template <class T> std::span<T> span() { return {data<T>(), static_cast<std::size_t>(numel())}; }
  template <class T> std::span<const T> span() const { return {data<T>(), static_cast<std::size_t>(numel())}; }
  std::byte* raw() { return storage_ ? storage_->data + offset_ : nullptr; }
  const std::byte* raw() const { return storage_ ? storage_->data + offset_ : nullptr; }

  /// The same elements under another shape.
  Tensor view(Shape shape) const;
  /// Rows [begin, end) of the first dimension; shares storage.
  Tensor slice(Index begin, Index end) const;
  Tensor clone(const Exec& exec = {}) const;
  /// Element-wise conversion between f32, f64 and bf16.
  Tensor to(DType dtype, const Exec& exec = {}) const;
  void zero();

 private:
  struct Storage {
    Arena* arena;
    std::size_t bytes;
    std::byte* data;
    Storage(Arena& a, std::size_t n) : arena(&a), bytes(n), data(a.take(n)) {}
    ~Storage() { arena->give(data, bytes); }
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
  };
  void check_type(DType wanted) const;

  std::shared_ptr<Storage> storage_;
  Shape shape_;
  DType dtype_ = DType::f32;
  Index offset_ = 0;  // bytes
};

}  // namespace minirl
