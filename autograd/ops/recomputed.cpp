#include "autograd/ops.h"

namespace minirl::ops {

// The segment runs twice with the same inputs and parameters, so the second run has the bits of the
// first (R2), and its ops add to the same gradients in the same order as without this op: nothing but
// memory and time changes.
Var recomputed(Tape& tape, const Var& x, RecomputedSegment segment) {
  const Exec& exec = tape.exec();
  Tape silent(false, exec);
  Tensor y = segment(silent, Var{x.value, -1}).value;
  return tape.record("recomputed", std::move(y), {x},
                     [x = x.value, segment = std::move(segment), exec](
                         Tensor dout, std::span<GradSlot> in) {
                       Tape again(true, exec);
                       const Var leaf = again.leaf(x);
                       const Var out = segment(again, leaf);
                       again.backward(out, std::move(dout));
                       if (in[0].wanted()) {
                         in[0].add(again.grad(leaf));
                       }
                     });
}

}  // namespace minirl::ops
