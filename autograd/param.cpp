#include "autograd/param.h"

#include "autograd/dispatch.h"
#include "core/parallel.h"
#include "kernels/elementwise.h"

namespace minirl {

Tensor& Param::grad(int use) {
  const auto index = static_cast<std::size_t>(use);
  while (grads_.size() <= index) { grads_.push_back(Tensor::zeros_beside(value, value.shape(), real())); }
  return grads_[index];
}

void Param::zero_grads() {
  for (Tensor& g : grads_) { g.zero(); }
}

void Param::combine_grads(const Exec& exec) {
  for (std::size_t use = 1; use < grads_.size(); ++use) {
    dispatch_real(real(), [&](auto type) {
      using T = decltype(type);
      const Index n = value.numel();
      kernels::for_rows(exec, kernels::blocks_of(n), kernels::kBlock,
                        kernels::AddInto<T>{grads_[use].data<T>(), grads_[0].data<T>(), n});
    });
    grads_[use].zero();
  }
}

Tensor Param::real_value(const Exec& exec) const {
  if (value.dtype() != DType::bf16) { return value; }
  MINIRL_CHECK(!value.on_device(), "{} is bf16 on a device", name);
  Tensor wide = Tensor::empty(value.shape(), DType::f32, exec);
  const Bf16* from = value.data<Bf16>();
  float* to = wide.data<float>();
  parallel_ranges(exec.threads, value.numel(), 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) { to[i] = to_float(from[i]); }
  });
  return wide;
}

kernels::PackedMatrix Param::packed_forward(const Exec& exec) {
  if (forward_.defined()) { return forward_; }
  auto packed = kernels::PackedMatrix::forward(exec, real_value(exec));
  if (keep_packed_) { forward_ = packed; }
  return packed;
}

void Param::keep_packed(bool keep) {
  keep_packed_ = keep;
  touch();
}

void Param::move_to(const Exec& exec) {
  value = value.near(exec);
  for (Tensor& g : grads_) { g = g.near(exec); }
  touch();
}

void Param::touch() { forward_ = {}; }

}  // namespace minirl
