#include "kernels/rope.h"

#include "autograd/dispatch.h"
#include "autograd/ops.h"

namespace minirl::ops {
namespace {

void rotate(const Exec& exec, Tensor& x, const RopeTable& table, const Tensor& positions, int direction) {
  const Index heads = x.shape()[1];
  const Index d = x.shape()[2];
  const Tensor cosine = table.cosine.near(exec), sine = table.sine.near(exec), near_positions = positions.near(exec);
  dispatch_real(x.dtype(), [&](auto real) {
    using T = decltype(real);
    kernels::for_rows(exec, x.shape()[0] * heads, 4 * d,
                      kernels::Rope<T>{x.data<T>(), cosine.data<T>(), sine.data<T>(), near_positions.data<std::int32_t>(), heads, d,
                                       static_cast<T>(direction)});
  });
}

}  // namespace

RopeTable RopeTable::make(Index positions, Index head_dim, double theta, DType dtype) {
  MINIRL_CHECK(head_dim % 2 == 0, "head_dim {} is odd", head_dim);
  std::vector<double> frequency;
  for (Index i = 0; i < head_dim / 2; ++i) { frequency.push_back(fmath::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim))); }
  return make(positions, frequency, 1, dtype);
}

RopeTable RopeTable::make(Index positions, std::span<const double> frequency, double magnitude, DType dtype) {
  const auto half = static_cast<Index>(frequency.size());
  RopeTable table{Tensor::empty({positions, half}, dtype), Tensor::empty({positions, half}, dtype)};
  for (Index i = 0; i < half; ++i) {
    for (Index p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * frequency[static_cast<std::size_t>(i)];
      dispatch_real(dtype, [&](auto real) {
        using T = decltype(real);
        table.cosine.data<T>()[p * half + i] = static_cast<T>(magnitude * fmath::cos(angle));
        table.sine.data<T>()[p * half + i] = static_cast<T>(magnitude * fmath::sin(angle));
      });
    }
  }
  return table;
}

RopeTable RopeTable::near(const Exec& exec) const { return {cosine.near(exec), sine.near(exec)}; }

Var rope(Tape& tape, const Var& x, const RopeTable& table, const Tensor& positions) {
  MINIRL_CHECK(x.value.shape().rank == 3 && positions.numel() == x.value.shape()[0], "x {} with {} positions", x.value.shape().str(), positions.numel());
  for (const std::int32_t p : positions.span<std::int32_t>()) {
    MINIRL_CHECK(p >= 0 && p < table.cosine.shape()[0], "position {} is outside the table of {}", p, table.cosine.shape()[0]);
  }
  Tensor y = x.value;  // in place: see the header
  rotate(tape.exec(), y, table, positions, 1);
  return tape.record("rope", std::move(y), {x}, [table, positions, exec = tape.exec()](Tensor dout, std::span<GradSlot> in) {
    if (!in[0].wanted()) { return; }
    rotate(exec, dout, table, positions, -1);  // (rope.3)
    in[0].add(std::move(dout));
  });
}

}  // namespace minirl::ops
