#include "autograd/tape.h"

#include "autograd/dispatch.h"
#include "kernels/elementwise.h"

namespace minirl {

Tensor& GradSlot::accumulator() {
  MINIRL_CHECK(wanted(), "no gradient is wanted for this input");
  if (!target_->defined()) { *target_ = Tensor::zeros(shape_, dtype_, *exec_); }
  return *target_;
}

void GradSlot::add(Tensor g) {
  MINIRL_CHECK(wanted(), "no gradient is wanted for this input");
  MINIRL_CHECK(g.numel() == shape_.numel() && g.dtype() == dtype_, "gradient {} {} does not fit a value {} {}", g.shape().str(),
               name(g.dtype()), shape_.str(), name(dtype_));
  if (!target_->defined()) {
    *target_ = g.view(shape_);
    return;
  }
  dispatch_real(dtype_, [&](auto real) {
    using T = decltype(real);
    const Index n = g.numel();
    kernels::for_rows(*exec_, kernels::blocks_of(n), kernels::kBlock, kernels::AddInto<T>{g.data<T>(), target_->data<T>(), n});
  });
}

Var Tape::leaf(Tensor value) {
  if (!recording_) { return {std::move(value), -1}; }
  nodes_.push_back({"leaf", value.shape(), value.dtype(), {}, {}, {}});
  return {std::move(value), static_cast<int>(nodes_.size()) - 1};
}

Var Tape::record(std::string_view op, Tensor value, std::initializer_list<Var> inputs, Backward backward, std::string_view place) {
  if (witness_) { witness_(op, place, value); }
  if (!recording_) { return {std::move(value), -1}; }
  Node node{op, value.shape(), value.dtype(), {}, std::move(backward), {}};
  for (const Var& v : inputs) { node.inputs.push_back(v.node); }
  nodes_.push_back(std::move(node));
  return {std::move(value), static_cast<int>(nodes_.size()) - 1};
}

void Tape::backward(const Var& out, Tensor seed) {
  MINIRL_CHECK(recording_ && out.node >= 0, "backward needs a recorded output");
  MINIRL_CHECK(seed.shape() == nodes_[static_cast<std::size_t>(out.node)].shape, "seed {} for an output {}", seed.shape().str(),
               nodes_[static_cast<std::size_t>(out.node)].shape.str());
  nodes_[static_cast<std::size_t>(out.node)].grad = std::move(seed);
  std::vector<GradSlot> slots;
  for (int i = out.node; i >= 0; --i) {
    Node& node = nodes_[static_cast<std::size_t>(i)];
    if (!node.backward || !node.grad.defined()) {
      node.backward = nullptr;
      continue;
    }
    slots.clear();
    for (const int input : node.inputs) {
      if (input < 0) {
        slots.emplace_back(nullptr, Shape{}, node.dtype, exec_);
      } else {
        Node& source = nodes_[static_cast<std::size_t>(input)];
        slots.emplace_back(&source.grad, source.shape, source.dtype, exec_);
      }
    }
    node.backward(std::move(node.grad), slots);
    node.grad = {};
    node.backward = nullptr;  // frees what the op saved
  }
}

Tensor Tape::grad(const Var& leaf) const {
  MINIRL_CHECK(leaf.node >= 0, "the gradient of a constant was asked for");
  const Node& node = nodes_[static_cast<std::size_t>(leaf.node)];
  return node.grad.defined() ? node.grad : Tensor::zeros(node.shape, node.dtype, exec_);
}

}  // namespace minirl
