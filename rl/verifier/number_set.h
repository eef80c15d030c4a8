// minirl rl/verifier/number_set.h -- sets of real numbers as disjoint intervals, from intervals,
// unions, inequalities and conditions.
#pragma once
#include <optional>
#include <vector>

#include "rl/verifier/normal_form.h"
#include "rl/verifier/tree.h"

namespace minirl::rl::verifier {

class Equality;

/// An end is a constant of the tree; kInfinite means without end.
inline constexpr int kInfinite = -1;
struct Interval {
  int low = kInfinite, high = kInfinite;
  bool low_open = true, high_open = true;
};
using NumberSet = std::vector<Interval>;  // ascending, disjoint, merged

class NumberSets {
 public:
  NumberSets(Tree& tree, Budget& budget, Equality& equality)
      : tree_(tree), budget_(budget), equality_(equality) {}

  /// Can the node only mean a set of reals (an inequality, a union, [a, b))?
  bool is_certain(int node) const;
  /// nullopt: it is no such set, or of several symbols.
  std::optional<NumberSet> of(int node);
  bool same(const NumberSet& a, const NumberSet& b);

 private:
  std::optional<NumberSet> link(int left, const std::string& op, int right);
  std::optional<NumberSet> conditions(int node);
  std::optional<int> solve(int left, int right, bool& flipped);
  NumberSet tidy(NumberSet s);
  NumberSet meet(const NumberSet& a, const NumberSet& b);
  NumberSet complement(const NumberSet& s);
  bool infinity(int node, bool& negative) const;
  /// Order of ends; a low end before a high one at the same place only where both are closed.
  int order_low(const Interval& a, const Interval& b);
  int order_high(const Interval& a, const Interval& b);
  Tree& tree_;
  Budget& budget_;
  Equality& equality_;
};

}  // namespace minirl::rl::verifier
