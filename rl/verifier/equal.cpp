#include "rl/verifier/equal.h"

#include <algorithm>
#include <array>
#include <optional>

#include "rl/verifier/ball.h"
#include "rl/verifier/words.h"

namespace minirl::rl::verifier {

/// Equations of which at least one names a value; nullopt: they are relations like others.
std::optional<bool> Equality::same_named(int a, int b) {
  const auto kind = [&](int node) { return tree_[node].kind; };
  const int va = value_of(a);
  const int vb = value_of(b);
  const bool named_a = kind(a) == Kind::relation && va != a;
  const bool named_b = kind(b) == Kind::relation && vb != b;
  if (named_a && named_b) {
    const Node p = tree_[a];
    const Node q = tree_[b];
    const int left = p.kids[0];
    const int right = q.kids[0];
    if (p.ops[0] == "in" || q.ops[0] == "in" || p.ops.size() > 1 || q.ops.size() > 1 ||
        kind(left) == Kind::text || kind(right) == Kind::text) {
      return same(va, vb);
    }
    const bool same_name = kind(left) == kind(right) && same(left, right);
    if (same_name) {
      return same(va, vb);
    }
    const auto function = [&](int node) { return kind(node) == Kind::product; };
    const auto names_function = [&](int node) {
      return function(node) || (kind(node) == Kind::symbol && tree_[node].text == "y");
    };
    if ((function(left) || function(right)) && names_function(left) && names_function(right)) {
      return same(va, vb);
    }
    return same_relation(a, b);
  }
  if (named_a && kind(b) == Kind::relation && !sets_.is_certain(b)) {
    return same_relation(a, b);
  }
  if (named_b && kind(a) == Kind::relation && !sets_.is_certain(a)) {
    return same_relation(a, b);
  }
  if (named_a || named_b) {
    // "x = 3" names a value, "n in {1, 2}" a set.
    return same(va, vb);
  }
  return std::nullopt;
}

/// Lists of named values: "n = 2, 3, 4" and "AB = 4, CD = 5" against the bare values.
std::optional<bool> Equality::same_without_names(int a, int b) {
  const auto kind = [&](int node) { return tree_[node].kind; };
  // "n = 2, 3, 4" and "AB = 4, CD = 5": only the values, when the other side gives only values.
  const auto has_names = [&](int node) {
    return kind(node) == Kind::list &&
           std::any_of(tree_[node].kids.begin(), tree_[node].kids.end(), [&](int kid) {
             return kind(kid) == Kind::relation && value_of(kid) != kid;
           });
  };
  const auto without_names = [&](int node) {
    Node n = tree_[node];
    for (int& kid : n.kids) {
      kid = value_of(kid);
    }
    return tree_.add(std::move(n));
  };
  const auto all_named = [&](int node) {
    return std::all_of(tree_[node].kids.begin(), tree_[node].kids.end(), [&](int kid) {
      return kind(kid) == Kind::relation && value_of(kid) != kid;
    });
  };
  if (has_names(a) || has_names(b)) {
    if (!(has_names(a) && has_names(b) && all_named(a) && all_named(b))) {
      return same(has_names(a) ? without_names(a) : a, has_names(b) ? without_names(b) : b);
    }
  }
  return std::nullopt;
}

/// Sets of reals; nullopt: at least one is none.
std::optional<bool> Equality::same_sets(int a, int b) {
  const auto kind = [&](int node) { return tree_[node].kind; };
  if (sets_.is_certain(a) || sets_.is_certain(b)) {
    // \pm in a set is not read
    const auto x = has_signs(a) ? std::nullopt : sets_.of(a);
    const auto y = !x || has_signs(b) ? std::nullopt : sets_.of(b);
    if (x && y) {
      return decide(sets_.same(*x, *y), "sets of reals, interval by interval");
    }
    if (kind(a) == Kind::merge && kind(b) == Kind::merge && tree_[a].text == tree_[b].text) {
      const std::vector<int> p = tree_[a].kids;
      const std::vector<int> q = tree_[b].kids;
      return tree_[a].text == "setminus" ? same_ordered(p, q) : same_unordered(p, q, false);
    }
    if (kind(a) == Kind::builder && kind(b) == Kind::builder) {
      return same_ordered(std::vector<int>(tree_[a].kids), std::vector<int>(tree_[b].kids));
    }
  }
  return std::nullopt;
}

/// Words on at least one side.
bool Equality::same_words(int a, int b) {
  const auto kind = [&](int node) { return tree_[node].kind; };
  const auto empty = [&](int node) { return kind(node) == Kind::set && tree_[node].kids.empty(); };
  const bool no_a = kind(a) == Kind::text && says_none(tree_[a].text);
  const bool no_b = kind(b) == Kind::text && says_none(tree_[b].text);
  if ((no_a || empty(a)) && (no_b || empty(b))) {
    return decide(true, "both say that there is none");
  }
  if (kind(a) != Kind::text || kind(b) != Kind::text) {
    if (kind(a) == Kind::prose && kind(b) == Kind::prose) {
      return decide(tree_[a].text == tree_[b].text && same_ordered(std::vector<int>(tree_[a].kids),
                                                                   std::vector<int>(tree_[b].kids)),
                    "the same words around the same mathematics");
    }
    return decide(false, "words and mathematics");
  }
  const bool equal = tree_[a].text == tree_[b].text;
  return decide(equal, equal ? "the same words" : "different words");
}

/// A matrix on at least one side.
bool Equality::same_matrices(int a, int b) {
  const Node p = tree_[a];
  const Node q = tree_[b];
  if (p.kind == q.kind) {
    return decide(p.columns == q.columns && p.text == q.text && same_ordered(p.kids, q.kids),
                  "matrices, entry by entry");
  }
  const Node& m = p.kind == Kind::matrix ? p : q;
  const Node& other = p.kind == Kind::matrix ? q : p;
  const bool vector = m.columns == 1 || static_cast<std::size_t>(m.columns) == m.kids.size();
  if (other.kind == Kind::tuple && vector) {
    return decide(same_ordered(m.kids, other.kids), "a vector, entry by entry");
  }
  if (other.kind == Kind::tuple && is_grid(other, m)) {  // [[1,2],[3,4]]
    std::vector<int> entries;
    for (const int row : other.kids) {
      const Node r = tree_[row];
      entries.insert(entries.end(), r.kids.begin(), r.kids.end());
    }
    return decide(same_ordered(m.kids, entries), "a matrix, entry by entry");
  }
  if (other.kind == Kind::call && other.text == "binom" && m.columns == 1) {
    return decide(same_ordered(m.kids, other.kids), "a vector, entry by entry");
  }
  if (m.kids.size() == 1) {
    return same(p.kind == Kind::matrix ? p.kids[0] : a, q.kind == Kind::matrix ? q.kids[0] : b);
  }
  return decide(false, "a matrix and something else");
}

/// A list, a set or both signs on at least one side.
bool Equality::same_several(int a, int b) {
  const auto kind = [&](int node) { return tree_[node].kind; };
  const auto either = [&](Kind k) { return kind(a) == k || kind(b) == k; };
  if (either(Kind::tuple) && !has_signs(a) && !has_signs(b)) {
    const Node p = tree_[a];
    const Node q = tree_[b];
    const Node& tuple = p.kind == Kind::tuple ? p : q;
    const Node& other = p.kind == Kind::tuple ? q : p;
    if (p.kind != q.kind && other.kind == Kind::list && tuple.open == '(' && tuple.close == ')') {
      return decide(same_ordered(p.kids, q.kids), "a tuple, entry by entry");
    }
  }
  const bool sets = kind(a) == Kind::set || kind(b) == Kind::set;
  if (sets && ((kind(a) == Kind::set && tree_[a].kids.empty()) ||
               (kind(b) == Kind::set && tree_[b].kids.empty()))) {
    return decide(kind(a) == kind(b) && tree_[a].kids.size() == tree_[b].kids.size(),
                  "the empty set");
  }
  const bool verdict = same_unordered(elements(a), elements(b), sets);
  return decide(verdict, verdict ? "the same values in any order" : "not the same values");
}

/// Two expressions; a degree sign may be left out.
bool Equality::same_scalars(int a, int b) {
  const auto kind = [&](int node) { return tree_[node].kind; };
  const auto congruent = [&](int node) {
    return kind(node) == Kind::call && tree_[node].text == "pmod";
  };
  if (congruent(a) || congruent(b)) {
    return same_congruence(a, b);
  }
  if (kind(a) == Kind::degrees || kind(b) == Kind::degrees) {
    const int x = kind(a) == Kind::degrees ? tree_[a].kids[0] : a;
    const int y = kind(b) == Kind::degrees ? tree_[b].kids[0] : b;
    if (same_value(x, y)) {
      return decide(true, "equal, with and without the sign of degrees");
    }
    if (kind(a) == kind(b)) {
      return false;
    }
    const int degrees = kind(a) == Kind::degrees ? x : y;
    const int radians = kind(a) == Kind::degrees ? y : x;
    const int turned = tree_.make(Kind::product, {degrees, tree_.make(Kind::symbol, {}, "pi"),
                                                  tree_.number(Rational(1) / 180)});
    return same_value(turned, radians);
  }
  return same_value(a, b);
}

/// What is the same kind of answer in other clothes, told in one way: C(5,2), P(1,3), R.
void Equality::align(int& a, int& b) {
  const auto kind = [&](int node) { return tree_[node].kind; };
  const auto one = [&](int& node, int other) {
    const Node n = tree_[node];
    if (n.kind == Kind::symbol && n.text == "R" && kind(other) == Kind::symbol &&
        tree_[other].text == "reals") {
      node = other;
    }
    if (n.kind == Kind::list && n.text == "and" && n.kids.size() == 2 && is_scalar(other)) {
      const Node& whole = tree_[n.kids[0]];
      const Node& part = tree_[n.kids[1]];
      if (whole.kind == Kind::number && part.kind == Kind::number && is_integer(whole.value) &&
          whole.value > 0 && part.value > 0 && part.value < 1 && !is_integer(part.value)) {
        node = tree_.number(add(whole.value, part.value, budget_));  // 11 and 5/6
      }
    }
    if (n.kind != Kind::product || n.kids.size() != 2 || kind(n.kids[0]) != Kind::symbol) {
      return;
    }
    const std::string name = tree_[n.kids[0]].text;
    const Node argument = tree_[n.kids[1]];
    if (name.size() != 1 || name[0] < 'A' || name[0] > 'Z' || argument.kind != Kind::tuple ||
        argument.open != '(' || argument.close != ')') {
      return;
    }
    if (kind(other) == Kind::tuple || kind(other) == Kind::matrix) {
      node = n.kids[1];  // the point P(1,3)
    } else if (is_scalar(other) && argument.kids.size() == 2 && (name == "C" || name == "P")) {
      node = tree_.make(Kind::call, argument.kids, name == "C" ? "binom" : "arrange");
    }
  };
  one(a, b);
  one(b, a);
  // i + 2j + 3k and (1, 2, 3)
  const auto vector = [&](int& node, int& other) {
    const Node n = tree_[node];
    const bool row = n.kind == Kind::tuple && n.open == '(' && n.close == ')';
    const bool column = n.kind == Kind::matrix && n.columns == 1;
    if ((!row && !column) || n.kids.size() > 3 || !is_scalar(other)) {
      return;
    }
    static constexpr std::array<std::string_view, 3> kBasis{"basis_i", "basis_j", "basis_k"};
    std::vector<int> terms;
    for (std::size_t i = 0; i < n.kids.size(); ++i) {
      if (!is_scalar(n.kids[i])) {
        return;
      }
      const int base = tree_.make(Kind::symbol, {}, std::string(kBasis[i]));
      terms.push_back(tree_.make(Kind::product, {n.kids[i], base}));
    }
    const auto names = free_symbols(tree_, {other}, budget_);
    if (std::any_of(names.begin(), names.end(),
                    [](const std::string& name) { return name.starts_with("basis_"); })) {
      node = tree_.make(Kind::sum, std::move(terms));
    }
  };
  vector(a, b);
  vector(b, a);
}

bool Equality::same(int a, int b) {
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(d) {
      if (++depth > kDeepest) {
        throw Stop{"it nests too deeply"};
      }
    }
    ~Deeper() { --depth; }
  } const deeper(depth_);
  budget_.spend(10);
  if (a == b) {
    return true;
  }
  a = settled(a);
  b = settled(b);
  align(a, b);
  const auto kind = [&](int node) { return tree_[node].kind; };
  const auto either = [&](Kind k) { return kind(a) == k || kind(b) == k; };
  if (either(Kind::relation)) {
    if (const auto verdict = same_named(a, b)) {
      return *verdict;
    }
  }
  if (const auto verdict = same_without_names(a, b)) {
    return *verdict;
  }
  if (const auto verdict = same_sets(a, b)) {
    return *verdict;
  }
  if (kind(a) == Kind::relation && kind(b) == Kind::relation) {
    return same_relation(a, b);
  }
  if (either(Kind::text) || either(Kind::prose)) {
    return same_words(a, b);
  }
  if (either(Kind::based)) {
    const Node& p = tree_[a];
    const Node& q = tree_[b];
    return decide(p.kind == q.kind && p.text == q.text && p.value == q.value, "digits and base");
  }
  if (either(Kind::quantity)) {
    return same_quantity(a, b);
  }
  if (either(Kind::ratio)) {
    return same_ratio(a, b);
  }
  if (either(Kind::matrix)) {
    return same_matrices(a, b);
  }
  if (either(Kind::list) || either(Kind::set) || has_signs(a) || has_signs(b)) {
    return same_several(a, b);
  }
  if (kind(a) == Kind::tuple && kind(b) == Kind::tuple) {
    const Node p = tree_[a];
    const Node q = tree_[b];
    if (p.open != q.open || p.close != q.close) {
      return decide(false, "different ends");
    }
    return decide(same_ordered(p.kids, q.kids), "tuples, entry by entry");
  }
  if (is_scalar(a) && is_scalar(b)) {
    return same_scalars(a, b);
  }
  return decide(false, "different kinds of answers");
}

}  // namespace minirl::rl::verifier
