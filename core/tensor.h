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
/// Storage is host memory or a device's. Floats are made where `exec` computes; integers (ids, positions, rows)
/// on the host, where they are checked: what computes with them takes near(exec).
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised storage from exec.arena (or the process-wide arena).
  static Tensor empty(Shape shape, DType dtype, const Exec& exec = {});
  static Tensor zeros(Shape shape, DType dtype, const Exec& exec = {});
  /// Zeros in the memory where `neighbour` is.
  static Tensor zeros_beside(const Tensor& neighbour, Shape shape, DType dtype);
  template <class T> static Tensor from(Shape shape, std::span<const T> values, const Exec& exec = {}) {
    MINIRL_CHECK(shape.numel() == static_cast<Index>(values.size()), "{} holds {} values, not {}", shape.str(), shape.numel(), values.size());
    Tensor t = empty(shape, DTypeOf<T>::value, exec);
    t.copy_in(values.data());
    return t;
  }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Index numel() const { return shape_.numel(); }
  Index bytes() const { return numel() * size_of(dtype_); }
  Index rows() const { return shape_.rank == 0 ? 1 : numel() / std::max<Index>(1, shape_.last()); }  // product of all but the last

  /// The address, for kernels: of the device where the tensor is on one.
  template <class T> T* data() {
    check_type(DTypeOf<T>::value);
    return reinterpret_cast<T*>(at());
  }
  template <class T> const T* data() const {
    check_type(DTypeOf<T>::value);
    return reinterpret_cast<const T*>(at());
  }
  /// The elements, for host code; the tensor must not be on a device.
  template <class T> std::span<T> span() {
    check_host();
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  template <class T> std::span<const T> span() const {
    check_host();
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  std::byte* raw() {
    check_host();
    return at();
  }
  const std::byte* raw() const {
    check_host();
    return at();
  }

  bool on_device() const { return memory() != nullptr; }
  /// This tensor where `exec` computes: itself, or a copy if it is elsewhere.
  Tensor near(const Exec& exec) const;
  /// ... where host code may touch it.
  Tensor on_host() const { return near(Exec{}); }
  /// ... where `neighbour` is.
  Tensor beside(const Tensor& neighbour) const;
  /// Takes over the elements of a tensor of the same shape and type, from any memory to any.
  void copy_from(const Tensor& source);

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
  void check_host() const;
  Tensor moved_to(Arena& arena) const;
  static Tensor in(Arena& arena, Shape shape, DType dtype);
  DeviceMemory* memory() const { return storage_ ? storage_->arena->memory() : nullptr; }
  std::byte* at() const { return storage_ ? storage_->data + offset_ : nullptr; }
  void copy_in(const void* host);

  std::shared_ptr<Storage> storage_;
  Shape shape_;
  DType dtype_ = DType::f32;
  Index offset_ = 0;  // bytes
};

}  // namespace minirl
