// minirl rl/verifier/equal.h -- do two answers say the same? Symmetric: no side is the gold.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "rl/verifier/normal_form.h"
#include "rl/verifier/number_set.h"
#include "rl/verifier/tree.h"

namespace minirl::rl::verifier {

class Equality {
 public:
  Equality(Tree& tree, Budget& budget)
      : tree_(tree), budget_(budget), forms_(tree, budget), sets_(tree, budget, *this) {}

  /// Throws Stop when it cannot be decided.
  bool same(int a, int b);
  /// The rule that decided.
  std::string_view why() const { return why_; }

  /// Numbers and expressions, exact where possible.
  bool same_value(int a, int b);
  /// -1, 0, 1: order of two real constants. Throws Stop if it cannot be known.
  int order(int a, int b);

 private:
  bool decide(bool verdict, std::string_view why) {
    why_ = why;
    return verdict;
  }
  bool is_name(int node, int depth = 0) const;
  bool is_scalar(int node) const;
  bool names_a_sum(int node) const;
  bool identical(int a, int b) const;
  int value_of(int node);
  std::optional<bool> same_named(int a, int b);
  std::optional<bool> same_without_names(int a, int b);
  std::optional<bool> same_sets(int a, int b);
  bool same_words(int a, int b);
  bool same_matrices(int a, int b);
  bool same_several(int a, int b);
  bool same_scalars(int a, int b);
  bool same_congruence(int a, int b);
  void align(int& a, int& b);
  /// The node with what needs no second side done: what follows an approximation sign dropped,
  /// matrix arithmetic carried out, ellipses written out.
  int settled(int node);
  int without_approximation(int node);
  int written_out(int node);
  bool has_matrix(int node);
  int evaluated(int node, int depth);
  int determinant(const Node& matrix);
  int product_of(const std::vector<int>& kids, int depth);
  bool is_grid(const Node& rows, const Node& matrix) const;
  int unit_product(int node);
  bool has_signs(int node);
  int with_sign(int node, bool plus);
  std::vector<int> elements(int node);
  bool same_unordered(const std::vector<int>& a, const std::vector<int>& b, bool as_sets);
  bool same_ordered(const std::vector<int>& a, const std::vector<int>& b);
  bool same_relation(int a, int b);
  bool same_ratio(int a, int b);
  bool same_quantity(int a, int b);

  Tree& tree_;
  Budget& budget_;
  NormalForms forms_;
  NumberSets sets_;
  std::string_view why_ = "";
  int depth_ = 0;
};

}  // namespace minirl::rl::verifier
