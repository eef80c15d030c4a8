#include "kernels/embedding.h"

#include <algorithm>
#include <numeric>

#include "autograd/dispatch.h"
#include "autograd/ops.h"
#include "core/near.h"

namespace minirl::ops {
namespace {

// Stable order of the rows by id, and where each distinct id begins.
struct Segments {
  std::vector<std::int32_t> order, begin;
  explicit Segments(std::span<const std::int32_t> ids) : order(ids.size()) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return ids[static_cast<std::size_t>(a)] < ids[static_cast<std::size_t>(b)]; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || ids[static_cast<std::size_t>(order[i])] != ids[static_cast<std::size_t>(order[i - 1])]) {
        begin.push_back(static_cast<std::int32_t>(i));
      }
    }
    begin.push_back(static_cast<std::int32_t>(order.size()));
  }
};

void scatter_add(const Exec& exec, const Tensor& dy, const Tensor& ids, Tensor& dw) {
  const Segments segments(ids.span<std::int32_t>());
  const Index width = dw.shape().last();
  const NearArray<std::int32_t> order(exec, segments.order), begin(exec, segments.begin);
  const Tensor near_ids = ids.near(exec);
  dispatch_real(dw.dtype(), [&](auto real) {
    using T = decltype(real);
    const kernels::EmbeddingBackward<T> program{dy.data<T>(), order.data(), begin.data(), near_ids.data<std::int32_t>(), dw.data<T>(), width};
    kernels::for_rows(exec, static_cast<Index>(segments.begin.size()) - 1, 4 * width, program);
  });
}

Tensor gather(const Exec& exec, const Tensor& table, const Tensor& ids) {
  const Index width = table.shape().last();
  if (table.dtype() == DType::bf16) {  // stored so, computed with as f32
    MINIRL_CHECK(!table.on_device(), "a bf16 table on a device");
    Tensor y = Tensor::empty({ids.numel(), width}, DType::f32, exec);
    for (Index r = 0; r < ids.numel(); ++r) {
      const Bf16* from = table.data<Bf16>() + static_cast<Index>(ids.data<std::int32_t>()[r]) * width;
      float* to = y.data<float>() + r * width;
      for (Index i = 0; i < width; ++i) { to[i] = to_float(from[i]); }
    }
    return y;
  }
  Tensor y = Tensor::empty({ids.numel(), width}, table.dtype(), exec);
  const Tensor near_ids = ids.near(exec);
  dispatch_real(table.dtype(), [&](auto real) {
    using T = decltype(real);
    kernels::for_rows(exec, ids.numel(), width, kernels::EmbeddingForward<T>{table.data<T>(), near_ids.data<std::int32_t>(), y.data<T>(), width});
  });
  return y;
}

void check_ids(const Tensor& ids, Index rows, const char* what) {
  for (const std::int32_t id : ids.span<std::int32_t>()) {
    MINIRL_CHECK(id >= 0 && id < rows, "{} {} is outside [0, {})", what, id, rows);
  }
}

}  // namespace

Var embedding(Tape& tape, ParamUse w, const Tensor& ids) {
  check_ids(ids, w.value().shape()[0], "token id");
  return tape.record("embedding", gather(tape.exec(), w.value(), ids), {}, [w, ids, exec = tape.exec()](Tensor dout, std::span<GradSlot>) {
    scatter_add(exec, dout, ids, w.grad());
  }, w.param->name);
}

Var gather_rows(Tape& tape, const Var& x, const Tensor& rows) {
  check_ids(rows, x.value.rows(), "row");
  return tape.record("gather_rows", gather(tape.exec(), x.value, rows), {x},
                     [rows, exec = tape.exec()](Tensor dout, std::span<GradSlot> in) {
                       if (in[0].wanted()) { scatter_add(exec, dout, rows, in[0].accumulator()); }
                     });
}

}  // namespace minirl::ops
