// minirl rl/verifier/ball.h -- numbers of 110 digits with a bound of their error, for what has no
// exact normal form. All operations are integer arithmetic inside: the same bits on every machine.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "rl/verifier/tree.h"

namespace minirl::rl::verifier {

using Real = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<110>,
                                           boost::multiprecision::et_off>;

/// A complex number and a bound of the distance to the true one.
struct Ball {
  Real re = 0, im = 0, error = 0;
};

struct Readings {
  bool natural_log = false;  // \log without a base: of base 10, or natural
};

class Evaluator {
 public:
  Evaluator(const Tree& tree, Budget& budget, Readings readings)
      : tree_(tree), budget_(budget), readings_(readings) {}

  /// Values of the symbols at a sample point; `whole`: positive integers.
  void set_point(int sample, bool whole, const std::vector<std::string>& symbols);
  /// nullopt: not defined there (a division by zero, ...). Throws Stop for what cannot be evaluated
  /// at all.
  std::optional<Ball> at(int node);

 private:
  struct Undefined {};
  Ball value(int node, bool angle);
  Ball call(const Node& n);
  const Tree& tree_;
  Budget& budget_;
  Readings readings_;
  std::map<std::string, Ball> symbols_;
  int depth_ = 0;
};

/// The value of an expression without free symbols.
std::optional<Ball> constant_value(const Tree& tree, int node, Budget& budget);

/// All free symbols below the node (not pi, e, i, infinity), sorted; throws Stop beyond 12.
std::vector<std::string> free_symbols(const Tree& tree, std::initializer_list<int> nodes,
                                      Budget& budget);

/// Equal at every one of several fixed points with 100 digits; different: at one point beyond all
/// error. Throws Stop when neither can be said.
bool equal_numerically(const Tree& tree, int a, int b, Budget& budget);

}  // namespace minirl::rl::verifier
