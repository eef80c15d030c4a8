#include "kernels/bias.h"

#include "autograd/dispatch.h"
#include "autograd/ops.h"

namespace minirl::ops {

Var add_bias(Tape& tape, const Var& x, ParamUse b) {
  const Index M = x.value.shape().last();
  const Index R = x.value.rows();
  MINIRL_CHECK(b.value().numel() == M, "bias {} for rows of {}", b.value().shape().str(), M);
  const Exec& exec = tape.exec();
  Tensor y = x.value;  // in place: see the header
  dispatch_real(y.dtype(), [&](auto real) {
    using T = decltype(real);
    kernels::for_rows(exec, R, M, kernels::AddBias<T>{y.data<T>(), b.value().data<T>(), M});
  });
  return tape.record(
      "add_bias", std::move(y), {x}, [b, R, M, exec](Tensor dout, std::span<GradSlot> in) {
        dispatch_real(dout.dtype(), [&](auto real) {
          using T = decltype(real);
          const Index blocks = (M + kernels::kLanes - 1) / kernels::kLanes;
          kernels::for_rows(
              exec, blocks, R * kernels::kLanes,
              kernels::BiasGrad<T>{dout.data<T>(), b.grad().template data<T>(), R, M});
        });
        if (in[0].wanted()) {
          in[0].add(std::move(dout));
        }
      },
      b.param->name);
}

}  // namespace minirl::ops
