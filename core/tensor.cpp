#include "core/tensor.h"

#include <fmt/ranges.h>

namespace minirl {

Shape::Shape(std::initializer_list<Index> dims) : rank(static_cast<int>(dims.size())) {
  MINIRL_CHECK(rank <= kMaxRank, "a shape has at most {} dimensions, not {}", kMaxRank, rank);
  std::size_t i = 0;
  for (const Index d : dims) {
    MINIRL_CHECK(d >= 0, "dimension {} is negative: {}", i, d);
    dim[i++] = d;
  }
}

std::string Shape::str() const {
  return fmt::format("({})", fmt::join(dim.begin(), dim.begin() + rank, ", "));
}

namespace {

Arena& arena_of(const Exec& exec) { return exec.arena != nullptr ? *exec.arena : Arena::global(); }

}  // namespace

Tensor Tensor::in(Arena& arena, Shape shape, DType dtype) {
  Tensor t;
  t.shape_ = shape;
  t.dtype_ = dtype;
  t.storage_ = std::make_shared<Storage>(arena, static_cast<std::size_t>(shape.numel() * size_of(dtype)));
  return t;
}

Tensor Tensor::empty(Shape shape, DType dtype, const Exec& exec) {
  Arena& arena = arena_of(exec);
  return in(arena.memory() != nullptr && !is_floating(dtype) ? Arena::global() : arena, shape, dtype);
}

Tensor Tensor::zeros(Shape shape, DType dtype, const Exec& exec) {
  Tensor t = empty(shape, dtype, exec);
  t.zero();
  return t;
}

Tensor Tensor::zeros_beside(const Tensor& neighbour, Shape shape, DType dtype) {
  Tensor t = in(neighbour.defined() ? *neighbour.storage_->arena : Arena::global(), shape, dtype);
  t.zero();
  return t;
}

void Tensor::zero() {
  if (!defined() || bytes() == 0) { return; }
  if (on_device()) {
    memory()->clear(at(), static_cast<std::size_t>(bytes()));
  } else {
    std::memset(at(), 0, static_cast<std::size_t>(bytes()));
  }
}

Tensor Tensor::near(const Exec& exec) const { return moved_to(arena_of(exec)); }
Tensor Tensor::beside(const Tensor& neighbour) const { return moved_to(neighbour.defined() ? *neighbour.storage_->arena : Arena::global()); }

Tensor Tensor::moved_to(Arena& arena) const {
  if (!defined() || arena.memory() == memory()) { return *this; }
  Tensor t = in(arena, shape_, dtype_);
  t.copy_from(*this);
  return t;
}

void Tensor::copy_in(const void* host) {
  if (bytes() == 0) { return; }
  if (on_device()) {
    memory()->copy_in(at(), host, static_cast<std::size_t>(bytes()));
  } else {
    std::memcpy(at(), host, static_cast<std::size_t>(bytes()));
  }
}

void Tensor::copy_from(const Tensor& source) {
  MINIRL_CHECK(source.shape_ == shape_ && source.dtype_ == dtype_, "copy of {} {} to {} {}", source.shape_.str(), name(source.dtype_), shape_.str(), name(dtype_));
  const auto size = static_cast<std::size_t>(bytes());
  if (size == 0) { return; }
  if (!source.on_device()) {
    copy_in(source.at());
  } else if (!on_device()) {
    source.memory()->copy_out(at(), source.at(), size);
  } else {
    memory()->copy_within(at(), source.at(), size);
  }
}

Tensor Tensor::view(Shape shape) const {
  MINIRL_CHECK(shape.numel() == numel(), "cannot view {} as {}", shape_.str(), shape.str());
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::slice(Index begin, Index end) const {
  MINIRL_CHECK(shape_.rank >= 1 && 0 <= begin && begin <= end && end <= shape_[0], "slice [{}, {}) of {}", begin, end, shape_.str());
  Tensor t = *this;
  const Index stride = shape_[0] == 0 ? 0 : numel() / shape_[0];
  t.shape_.dim[0] = end - begin;
  t.offset_ += begin * stride * size_of(dtype_);
  return t;
}

Tensor Tensor::clone(const Exec& exec) const {
  Tensor t = in(arena_of(exec), shape_, dtype_);
  t.copy_from(*this);
  return t;
}

Tensor Tensor::to(DType dtype, const Exec& exec) const {
  if (dtype == dtype_) { return clone(exec); }
  MINIRL_CHECK(!on_device(), "conversion of {} to {} on a device", name(dtype_), name(dtype));
  Tensor t = empty(shape_, dtype, exec);
  const auto read = [this](Index i) -> double {
    switch (dtype_) {
      case DType::f32: return data<float>()[i];
      case DType::f64: return data<double>()[i];
      case DType::bf16: return to_float(data<Bf16>()[i]);
      default: fail_check("floating dtype", __FILE__, __LINE__, fmt::format("cannot convert from {}", name(dtype_)));
    }
  };
  for (Index i = 0; i < numel(); ++i) {
    switch (dtype) {
      case DType::f32: t.data<float>()[i] = static_cast<float>(read(i)); break;
      case DType::f64: t.data<double>()[i] = read(i); break;
      case DType::bf16: t.data<Bf16>()[i] = to_bf16(static_cast<float>(read(i))); break;
      default: MINIRL_CHECK(false, "cannot convert to {}", name(dtype));
    }
  }
  return t;
}

void Tensor::check_host() const {
  MINIRL_CHECK(!on_device(), "host code touches the elements of {} {} on a device", shape_.str(), name(dtype_));
}

void Tensor::check_type(DType wanted) const {
  MINIRL_CHECK(dtype_ == wanted, "tensor {} holds {}, not {}", shape_.str(), name(dtype_), name(wanted));
}

}  // namespace minirl
