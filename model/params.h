// minirl model/params.h -- the parameters of a model, in a fixed order.
#pragma once
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include "autograd/param.h"
#include "core/rng.h"

namespace minirl {

/// One parameter of a model as its family declares it: enough to make, save, count or load it.
struct WeightSpec {
  enum class Start : unsigned char { normal, ones, zeros };
  std::string name;  // as in Hugging Face checkpoints
  Shape shape;
  Start start = Start::normal;
  bool decays() const { return start == Start::normal; }
};

/// Initial values [begin, begin + out.size()) of the parameter: value i is a function of seed, name and i
/// alone, so that they can be made in any order, in pieces and by several threads.
void initial_values(const WeightSpec& spec, double std, std::uint64_t seed, Index begin, std::span<float> out);

class Params {
 public:
  /// All parameters with their initial values, f32 or f64 (made as f32 and converted, so that an f64 model
  /// starts from the same numbers).
  static Params random(std::span<const WeightSpec> specs, DType dtype, double std, std::uint64_t seed);
  /// ... or with storage that a loader will fill.
  static Params uninitialised(std::span<const WeightSpec> specs, DType dtype, DType matrices);

  /// Adds a matrix drawn from N(0, std^2) (each value a function of seed, name and index) ...
  Param& add_normal(std::string name, Shape shape, double std, std::uint64_t seed);
  /// ... or a vector of ones (norm weights: no decay).
  Param& add_ones(std::string name, Shape shape);

  std::deque<Param>& all() { return params_; }
  const std::deque<Param>& all() const { return params_; }
  Param* find(std::string_view name);
  Index numel() const;

  /// f32 or bf16 (rounded to nearest, ties to even); vectors stay as they are.
  void store_matrices_as(DType dtype);
  /// See Param::keep_packed.
  void keep_packed(bool keep);

  /// See Param::move_to.
  void move_to(const Exec& exec);
  void zero_grads();
  void combine_grads(const Exec& exec);
  /// After any change of values: packed forms are made again at the next use.
  void touch();
  /// Values of `from`, converted to this set's dtype; names and shapes must agree.
  void copy_values(const Params& from);
  /// SHA-256 over names, shapes and bits, in order.
  std::string hash() const;

 private:
  std::deque<Param> params_;  // a deque keeps references valid
};

}  // namespace minirl
