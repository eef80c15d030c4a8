#include "autograd/ops.h"
#include "kernels/matmul.h"

namespace minirl::ops {

Var linear(Tape& tape, const Var& x, ParamUse w) {
  const Exec& exec = tape.exec();
  Tensor y = Tensor::empty({x.value.rows(), w.value().shape()[0]}, x.value.dtype(), exec);
  kernels::linear_forward(exec, x.value, w.param->packed_forward(exec), y);
  return tape.record("linear", std::move(y), {x}, [x = x.value, w, exec](Tensor dout, std::span<GradSlot> in) {
    if (in[0].wanted()) { kernels::linear_input_grad(exec, dout, w.param->real_value(exec), in[0].accumulator()); }
    kernels::linear_weight_grad(exec, dout, x, w.grad());
  }, w.param->name);
}

}  // namespace minirl::ops
