// Names of values, equations and inequalities.
#include <algorithm>

#include "rl/verifier/ball.h"
#include "rl/verifier/equal.h"

namespace minirl::rl::verifier {
namespace {

std::string_view reversed(const std::string& op) {
  return op == "<"    ? ">"
         : op == "<=" ? ">="
         : op == ">"  ? "<"
         : op == ">=" ? "<="
                      : std::string_view(op);
}

}  // namespace

/// A name for a value: x, a_1, AB, |AB|, f(x), (p, q), Area; no formula.
bool Equality::is_name(int node, int depth) const {
  if (depth > 8) {
    return false;
  }
  const Node& n = tree_[node];
  switch (n.kind) {
    case Kind::symbol:
      return n.text != "pi" && n.text != "infinity" && n.text != "ldots" && n.text != "reals" &&
             n.text != "i";
    case Kind::text:
      return true;
    case Kind::call:
      return n.text != "factorial" && !n.kids.empty() && is_name(n.kids[0], depth + 1);
    case Kind::tuple:
      return std::all_of(n.kids.begin(), n.kids.end(),
                         [&](int kid) { return is_name(kid, depth + 1); });
    case Kind::list:
      return std::all_of(n.kids.begin(), n.kids.end(),
                         [&](int kid) { return is_name(kid, depth + 1); });
    case Kind::product: {  // AB, f(2), P(A)
      if (!is_name(n.kids[0], depth + 1) || tree_[n.kids[0]].kind != Kind::symbol) {
        return false;
      }
      if (std::all_of(n.kids.begin(), n.kids.end(),
                      [&](int kid) { return is_name(kid, depth + 1); })) {
        return true;
      }
      return n.kids.size() == 2 && is_scalar(n.kids[1]);
    }
    default:
      return false;
  }
}

/// m + n, a + b + c: the sum of several names asked for, not the equation of a line.
bool Equality::names_a_sum(int node) const {
  const Node& n = tree_[node];
  return n.kind == Kind::sum && n.kids.size() <= 6 &&
         std::all_of(n.kids.begin(), n.kids.end(),
                     [&](int kid) { return tree_[kid].kind == Kind::symbol && is_name(kid); });
}

/// What a chain of equations with a name in front says the name is; the node itself if it is no
/// such chain.
int Equality::value_of(int node) {
  const Node n = tree_[node];
  if (n.kind == Kind::text || n.kind != Kind::relation) {
    return node;
  }
  if (n.ops.size() == 1 && n.ops[0] == "in" && is_name(n.kids[0])) {
    return n.kids[1];
  }
  if (!std::all_of(n.ops.begin(), n.ops.end(), [](const std::string& op) { return op == "="; })) {
    return node;
  }
  const int last = n.kids.back();
  if (n.ops.size() == 1 && is_name(last) && is_scalar(n.kids[0]) && !is_name(n.kids[0]) &&
      free_symbols(tree_, {n.kids[0]}, budget_).empty()) {
    return n.kids[0];
  }  // 5 = x
  if (n.ops.size() == 1 && names_a_sum(n.kids[0]) && is_scalar(last) &&
      free_symbols(tree_, {last}, budget_).empty() && !same_value(last, tree_.number(0))) {
    return last;  // m + n = 5
  }
  for (std::size_t i = 0; i + 1 < n.kids.size(); ++i) {
    const int kid = n.kids[i];
    const bool first = i == 0;
    if (first && is_name(kid)) {
      if (is_scalar(last) && tree_[kid].kind != Kind::text && n.ops.size() == 1) {
        // y = 2x + 1 is an equation between two symbols, and its right side is the value asked for.
        continue;
      }
      continue;
    }
    const bool formula = first && n.kids.size() >= 3 && is_scalar(kid) &&
                         !free_symbols(tree_, {kid}, budget_).empty();
    if (formula) {
      continue;
    }
    // Shown arithmetic must be true: 12 = 13 is no way to say 13.
    if (!is_scalar(kid) || !is_scalar(last)) {
      return node;
    }
    if (!free_symbols(tree_, {kid}, budget_).empty() && n.kids.size() < 3) {
      return node;
    }
    if (!same_value(kid, last)) {
      return node;
    }
  }
  return last;
}

/// What stands in front of the first approximation sign: 3/4 of "x = 3/4 ~ 0.75".
int Equality::without_approximation(int node) {
  const Node n = tree_[node];
  if (n.kind != Kind::relation) {
    return node;
  }
  const auto first = std::find(n.ops.begin(), n.ops.end(), "~");
  if (first == n.ops.end()) {
    return node;
  }
  const auto links = static_cast<std::ptrdiff_t>(first - n.ops.begin());
  if (links == 0) {
    return is_name(n.kids[0]) ? node : n.kids[0];
  }
  Node out;
  out.kind = Kind::relation;
  out.kids.assign(n.kids.begin(), n.kids.begin() + links + 1);
  out.ops.assign(n.ops.begin(), first);
  return tree_.add(std::move(out));
}

/// 3 (mod 5) and 8 (mod 5).
bool Equality::same_congruence(int a, int b) {
  const Node p = tree_[a];
  const Node q = tree_[b];
  if (p.kind != q.kind || p.text != q.text || !same_value(p.kids[1], q.kids[1])) {
    return decide(false, "not the same modulus");
  }
  const int minus = tree_.make(Kind::product, {tree_.number(-1), q.kids[0]});
  const int inverse = tree_.make(Kind::power, {p.kids[1], tree_.number(-1)});
  const int times = tree_.make(Kind::product, {tree_.make(Kind::sum, {p.kids[0], minus}), inverse});
  const auto form = forms_.of(times);
  const auto above = form ? form->above.constant() : std::nullopt;
  const auto below = form ? form->below.constant() : std::nullopt;
  if (!above || !below || *below == 0) {
    return decide(same_value(p.kids[0], q.kids[0]), "congruences of what has no value");
  }
  return decide(is_integer(Rational(*above / *below)), "congruent or not");
}

bool Equality::same_relation(int a, int b) {
  const Node p = tree_[a];
  const Node q = tree_[b];
  if (p.ops.size() == 1 && q.ops.size() == 1) {
    const bool turn = p.ops[0] != q.ops[0];
    if (turn && q.ops[0] != reversed(p.ops[0])) {
      return decide(false, "different relations");
    }
    const int left = turn ? q.kids[1] : q.kids[0];
    const int right = turn ? q.kids[0] : q.kids[1];
    if (is_scalar(p.kids[0]) && is_scalar(p.kids[1]) && is_scalar(left) && is_scalar(right)) {
      const bool equation = p.ops[0] == "=" || p.ops[0] == "!=";
      if (equation || !turn || p.ops[0] != "~") {
        auto answer = forms_.proportional(p.kids[0], p.kids[1], left, right, !equation);
        if (answer != NormalForms::Answer::yes && p.ops[0] != "=" && p.ops[0] != "!=") {
          // a < b is also -b < -a
          const auto other = forms_.proportional(p.kids[1], p.kids[0], right, left, true);
          answer = other == NormalForms::Answer::yes ? other : answer;
        }
        if (answer == NormalForms::Answer::yes) {
          return decide(true, "the same relation up to a factor");
        }
        // x < y as y > x with a negative factor: -x > -1 and x < 1.
        if (!equation && answer == NormalForms::Answer::no && !turn) {
          return decide(false, "different relations");
        }
        if (answer == NormalForms::Answer::no && equation) {
          return decide(false, "different relations");
        }
      }
      if (!equation && turn) {
        const auto swapped = forms_.proportional(p.kids[0], p.kids[1], left, right, true);
        if (swapped == NormalForms::Answer::yes) {
          return decide(true, "the same relation up to a factor");
        }
      }
      if (p.ops[0] == "=") {
        return (same_value(p.kids[0], left) && same_value(p.kids[1], right)) ||
               (same_value(p.kids[0], right) && same_value(p.kids[1], left));
      }
    }
    return same(p.kids[0], left) && same(p.kids[1], right);
  }
  if (p.ops.size() != q.ops.size()) {
    return decide(false, "relations of different length");
  }
  const bool forward = p.ops == q.ops && same_ordered(p.kids, q.kids);
  if (forward) {
    return true;
  }
  std::vector<int> kids(q.kids.rbegin(), q.kids.rend());
  std::vector<std::string> ops;
  for (auto it = q.ops.rbegin(); it != q.ops.rend(); ++it) {
    ops.emplace_back(reversed(*it));
  }
  return decide(p.ops == ops && same_ordered(p.kids, kids),
                "a chain of relations, either way round");
}

}  // namespace minirl::rl::verifier
