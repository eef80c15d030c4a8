#include "kernels/rmsnorm.h"

#include "autograd/dispatch.h"
#include "autograd/ops.h"

namespace minirl::ops {

Var rmsnorm(Tape& tape, const Var& x, ParamUse w, double eps) {
  const Index D = x.value.shape().last();
  const Index R = x.value.rows();
  MINIRL_CHECK(w.value().numel() == D, "weight {} for rows of {}", w.value().shape().str(), D);
  const Exec& exec = tape.exec();
  Tensor y = Tensor::empty(x.value.shape(), x.value.dtype(), exec);
  Tensor s = Tensor::empty({R}, x.value.dtype(), exec);
  dispatch_real(x.value.dtype(), [&](auto real) {
    using T = decltype(real);
    kernels::for_rows(exec, R, 4 * D, kernels::RmsNormForward<T>{x.value.data<T>(), w.value().data<T>(), y.data<T>(), s.data<T>(), D, static_cast<T>(eps)});
  });
  return tape.record("rmsnorm", std::move(y), {x}, [x = x.value, w, s, R, D, exec](Tensor dout, std::span<GradSlot> in) {
    dispatch_real(x.dtype(), [&](auto real) {
      using T = decltype(real);
      if (in[0].wanted()) {
        kernels::for_rows(exec, R, 8 * D, kernels::RmsNormBackward<T>{x.data<T>(), w.value().template data<T>(), s.data<T>(), dout.data<T>(), in[0].accumulator().template data<T>(), D});
      }
      const Index blocks = (D + kernels::kLanes - 1) / kernels::kLanes;
      kernels::for_rows(exec, blocks, 4 * R * kernels::kLanes, kernels::RmsNormWeightGrad<T>{x.data<T>(), s.data<T>(), dout.data<T>(), w.grad().template data<T>(), R, D});
    });
  }, w.param->name);
}

}  // namespace minirl::ops
