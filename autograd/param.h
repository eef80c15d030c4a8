// minirl autograd/param.h -- a named parameter, its gradients and its packed form.
#pragma once
#include <string>
#include <vector>

#include "core/tensor.h"
#include "kernels/matmul.h"

namespace minirl {

/// One parameter tensor. Every *use* of it in the model has its own gradient accumulator: with tied
/// embeddings, the table and the head add to different tensors, so that the order of additions to
/// each one is the order of tokens, whatever the micro-batches are (R10). combine_grads() adds them.
class Param {
 public:
  Param(std::string full_name, Tensor initial, bool decays) : name(std::move(full_name)), value(std::move(initial)), decay(decays) {}

  std::string name;  // Hugging Face name, e.g. "model.layers.0.self_attn.q_proj.weight"
  Tensor value;       // f32 or f64; matrices also bf16
  bool decay = true;  // weight decay applies (matrices) or not (norms)

  /// Gradient accumulator of use `use`, zero at first access.
  Tensor& grad(int use = 0);
  bool has_grad() const { return !grads_.empty(); }
  void zero_grads();
  /// grad(0) += grad(1) + ... in ascending order; the others become zero. Called once an optimizer step.
  void combine_grads(const Exec& exec);

  /// The type of arithmetic and gradients: a matrix may be stored as bf16, but is computed with as f32.
  DType real() const { return value.dtype() == DType::bf16 ? DType::f32 : value.dtype(); }
  /// The value as real(): itself, or for bf16 a copy that lives as long as its user keeps it.
  Tensor real_value(const Exec& exec) const;

  /// Packed for y = x W^T. Made once per value and kept (touch() after every change of `value`), unless
  /// keep_packed(false) trades the memory for packing at every use.
  kernels::PackedMatrix packed_forward(const Exec& exec);
  void keep_packed(bool keep);
  void touch();
  /// To the memory where `exec` computes, with its gradients.
  void move_to(const Exec& exec);

 private:
  std::vector<Tensor> grads_;
  kernels::PackedMatrix forward_;
  bool keep_packed_ = true;
};

/// A parameter as one place of the model uses it.
struct ParamUse {
  Param* param = nullptr;
  int use = 0;
  const Tensor& value() const { return param->value; }
  Tensor& grad() const { return param->grad(use); }
};

}  // namespace minirl
