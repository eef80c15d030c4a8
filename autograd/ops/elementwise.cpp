#include "kernels/elementwise.h"

#include "autograd/dispatch.h"
#include "autograd/ops.h"
#include "kernels/swiglu.h"

namespace minirl::ops {

Var add(Tape& tape, const Var& a, const Var& b) {
  MINIRL_CHECK(a.value.shape() == b.value.shape(), "{} + {}", a.value.shape().str(), b.value.shape().str());
  const Exec& exec = tape.exec();
  Tensor y = Tensor::empty(a.value.shape(), a.value.dtype(), exec);
  const Index n = y.numel();
  dispatch_real(y.dtype(), [&](auto real) {
    using T = decltype(real);
    kernels::for_rows(exec, kernels::blocks_of(n), kernels::kBlock, kernels::Add<T>{a.value.data<T>(), b.value.data<T>(), y.data<T>(), n});
  });
  return tape.record("add", std::move(y), {a, b}, [exec](Tensor dout, std::span<GradSlot> in) {
    if (in[0].wanted() && in[1].wanted()) { in[0].add(dout.clone(exec)); }  // each needs storage of its own
    if (in[0].wanted() && !in[1].wanted()) { in[0].add(std::move(dout)); return; }
    if (in[1].wanted()) { in[1].add(std::move(dout)); }
  });
}

Var view(Tape& tape, const Var& x, Shape shape) {
  return tape.record("view", x.value.view(shape), {x}, [](Tensor dout, std::span<GradSlot> in) {
    if (in[0].wanted()) { in[0].add(std::move(dout)); }
  });
}

Var swiglu(Tape& tape, const Var& gate, const Var& up) {
  MINIRL_CHECK(gate.value.shape() == up.value.shape(), "gate {} and up {}", gate.value.shape().str(), up.value.shape().str());
  const Exec& exec = tape.exec();
  const Index F = gate.value.shape().last();
  const Index R = gate.value.rows();
  Tensor y = Tensor::empty(gate.value.shape(), gate.value.dtype(), exec);
  dispatch_real(y.dtype(), [&](auto real) {
    using T = decltype(real);
    kernels::for_rows(exec, R, 8 * F, kernels::SwigluForward<T>{gate.value.data<T>(), up.value.data<T>(), y.data<T>(), F});
  });
  return tape.record("swiglu", std::move(y), {gate, up}, [g = gate.value, u = up.value, R, F, exec](Tensor dout, std::span<GradSlot> in) {
    MINIRL_CHECK(in[0].wanted() && in[1].wanted(), "swiglu differentiates both inputs");
    dispatch_real(g.dtype(), [&](auto real) {
      using T = decltype(real);
      kernels::for_rows(exec, R, 12 * F,
                        kernels::SwigluBackward<T>{g.data<T>(), u.data<T>(), dout.data<T>(), in[0].accumulator().template data<T>(),
                                                   in[1].accumulator().template data<T>(), F});
    });
  });
}

}  // namespace minirl::ops
