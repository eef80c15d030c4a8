// minirl model/params.h -- the parameters of a model, in a fixed order.
#pragma once
#include <deque>
#include <string>
#include <string_view>

#include "autograd/param.h"
#include "core/rng.h"

namespace minirl {

class Params {
 public:
  /// Adds a matrix drawn from N(0, std^2) (each value a function of seed, name and index) ...
  Param& add_normal(std::string name, Shape shape, double std, std::uint64_t seed);
  /// ... or a vector of ones (norm weights: no decay).
  Param& add_ones(std::string name, Shape shape);

  std::deque<Param>& all() { return params_; }
  const std::deque<Param>& all() const { return params_; }
  Param* find(std::string_view name);
  Index numel() const;

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
