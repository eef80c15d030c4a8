// minirl autograd/tape.h -- reverse-mode differentiation over a list.
// Insertion order is a topological order, so backward is one reverse loop: no sort, no recursion, and
// one order in which gradients are added.
#pragma once
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace minirl {

/// A value and its place on the tape (-1: no gradient flows into it).
struct Var {
  Tensor value;
  int node = -1;
};

/// The gradient of one input of an op, filled during backward.
class GradSlot {
 public:
  GradSlot(Tensor* target, Shape shape, DType dtype, const Exec& exec) : target_(target), shape_(shape), dtype_(dtype), exec_(&exec) {}
  bool wanted() const { return target_ != nullptr; }
  /// For kernels that add: the tensor so far, or zeros.
  Tensor& accumulator();
  /// Adds `g`, taking over its storage when it is the first. The caller must not use `g` afterwards.
  void add(Tensor g);

 private:
  Tensor* target_;
  Shape shape_;
  DType dtype_;
  const Exec* exec_;
};

class Tape {
 public:
  /// A tape that does not record serves sampling and evaluation: the same ops, no bookkeeping.
  Tape(bool recording, const Exec& exec) : recording_(recording), exec_(exec) {}

  bool recording() const { return recording_; }
  const Exec& exec() const { return exec_; }

  /// dout: gradient of the op's output, which the closure may overwrite; inputs: one slot an input.
  using Backward = std::function<void(Tensor dout, std::span<GradSlot> inputs)>;

  /// Sees the output of every op as it is computed, recording or not: for audits. `place` names the parameter
  /// that the op used; empty for ops without one. Must copy what it keeps: some ops work in place.
  using Witness = std::function<void(std::string_view op, std::string_view place, const Tensor& value)>;
  void watch(Witness witness) { witness_ = std::move(witness); }

  /// Puts an op on the tape. `op` must outlive the tape (a literal).
  Var record(std::string_view op, Tensor value, std::initializer_list<Var> inputs, Backward backward, std::string_view place = {});
  /// A leaf whose gradient can be read with grad() after backward().
  Var leaf(Tensor value);

  /// Runs the list backwards from `out` with d(out) = seed, releasing what each node saved.
  void backward(const Var& out, Tensor seed);
  /// Gradient of a leaf; zeros if none arrived.
  Tensor grad(const Var& leaf) const;

  std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    std::string_view op;
    Shape shape;
    DType dtype;
    std::vector<int> inputs;
    Backward backward;  // empty for leaves
    Tensor grad;
  };
  bool recording_;
  Exec exec_;
  std::vector<Node> nodes_;
  Witness witness_;  // empty: nobody watches
};

}  // namespace minirl
