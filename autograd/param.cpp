#include "autograd/param.h"

#include "autograd/dispatch.h"
#include "kernels/elementwise.h"

namespace minirl {

Tensor& Param::grad(int use) {
  const auto index = static_cast<std::size_t>(use);
  while (grads_.size() <= index) { grads_.push_back(Tensor::zeros(value.shape(), value.dtype())); }
  return grads_[index];
}

void Param::zero_grads() {
  for (Tensor& g : grads_) { g.zero(); }
}

void Param::combine_grads(const Exec& exec) {
  for (std::size_t use = 1; use < grads_.size(); ++use) {
    dispatch_real(value.dtype(), [&](auto real) {
      using T = decltype(real);
      const Index n = value.numel();
      kernels::for_rows(exec, kernels::blocks_of(n), kernels::kBlock,
                        kernels::AddInto<T>{grads_[use].data<T>(), grads_[0].data<T>(), n});
    });
    grads_[use].zero();
  }
}

const kernels::PackedMatrix& Param::packed_forward(const Exec& exec) {
  if (!forward_.defined()) { forward_ = kernels::PackedMatrix::forward(exec, value); }
  return forward_;
}

const kernels::PackedMatrix& Param::packed_input_grad(const Exec& exec) {
  if (!input_grad_.defined()) { input_grad_ = kernels::PackedMatrix::input_grad(exec, value); }
  return input_grad_;
}

void Param::touch() {
  forward_ = {};
  input_grad_ = {};
}

}  // namespace minirl
