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

Tensor Tensor::empty(Shape shape, DType dtype, const Exec& exec) {
  Tensor t;
  t.shape_ = shape;
  t.dtype_ = dtype;
  t.storage_ = std::make_shared<Storage>(exec.arena != nullptr ? *exec.arena : Arena::global(),
                                         static_cast<std::size_t>(shape.numel() * size_of(dtype)));
  return t;
}

Tensor Tensor::zeros(Shape shape, DType dtype, const Exec& exec) {
  Tensor t = empty(shape, dtype, exec);
  t.zero();
  return t;
}

void Tensor::zero() {
  if (defined()) { std::memset(raw(), 0, static_cast<std::size_t>(bytes())); }
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
  Tensor t = empty(shape_, dtype_, exec);
  if (bytes() > 0) { std::memcpy(t.raw(), raw(), static_cast<std::size_t>(bytes())); }
  return t;
}

Tensor Tensor::to(DType dtype, const Exec& exec) const {
  if (dtype == dtype_) { return clone(exec); }
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

void Tensor::check_type(DType wanted) const {
  MINIRL_CHECK(dtype_ == wanted, "tensor {} holds {}, not {}", shape_.str(), name(dtype_), name(wanted));
}

}  // namespace minirl
