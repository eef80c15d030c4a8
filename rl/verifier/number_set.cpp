#include "rl/verifier/number_set.h"

#include <algorithm>

#include "rl/verifier/ball.h"
#include "rl/verifier/equal.h"
#include "rl/verifier/words.h"

namespace minirl::rl::verifier {
namespace {

bool is_inequality(const std::string& op) {
  return op == "<" || op == "<=" || op == ">" || op == ">=" || op == "!=";
}
std::string flipped_op(const std::string& op) {
  return op == "<" ? ">" : op == "<=" ? ">=" : op == ">" ? "<" : op == ">=" ? "<=" : op;
}

}  // namespace

bool NumberSets::infinity(int node, bool& negative) const {
  const Node& n = tree_[node];
  if (n.kind == Kind::symbol && n.text == "infinity") {
    negative = false;
    return true;
  }
  if (n.kind == Kind::product && n.kids.size() == 2 && tree_[n.kids[0]].kind == Kind::number &&
      tree_[n.kids[0]].value == -1 && tree_[n.kids[1]].text == "infinity") {
    negative = true;
    return true;
  }
  return false;
}

bool NumberSets::is_certain(int node) const {
  const Node& n = tree_[node];
  switch (n.kind) {
    case Kind::merge:
    case Kind::builder:
      return true;
    case Kind::symbol:
      return n.text == "reals";
    case Kind::tuple: {
      bool negative = false;
      return n.kids.size() == 2 && (n.open == '[' || n.close == ']' ||
                                    infinity(n.kids[0], negative) || infinity(n.kids[1], negative));
    }
    case Kind::relation:
      return std::any_of(n.ops.begin(), n.ops.end(),
                         [](const std::string& op) { return is_inequality(op) || op == "in"; });
    case Kind::list:
      return std::any_of(n.kids.begin(), n.kids.end(), [this](int kid) {
        return tree_[kid].kind == Kind::relation && is_certain(kid);
      });
    default:
      return false;
  }
}

/// The bound of a single symbol: a constant c with "symbol op c"; `flipped` if the sides changed
/// places.
std::optional<int> NumberSets::solve(int left, int right, bool& flipped) {
  const auto symbols = free_symbols(tree_, {left, right}, budget_);
  if (symbols.size() != 1) {
    return std::nullopt;
  }
  const auto constant = [&](int node) { return free_symbols(tree_, {node}, budget_).empty(); };
  if (tree_[left].kind == Kind::symbol && constant(right)) {
    flipped = false;
    return right;
  }
  if (tree_[right].kind == Kind::symbol && constant(left)) {
    flipped = true;
    return left;
  }
  NormalForms forms(tree_, budget_);
  const auto l = forms.of(left);
  const auto r = forms.of(right);
  if (!l || !r) {
    return std::nullopt;
  }
  const auto below_l = l->below.constant();
  const auto below_r = r->below.constant();
  if (!below_l || !below_r || *below_l == 0 || *below_r == 0) {
    return std::nullopt;
  }
  Rational slope = 0;
  Rational shift = 0;
  for (const auto* side : {&*l, &*r}) {
    const Rational scale = (side == &*l ? Rational(1) / *below_l : Rational(-1) / *below_r);
    for (const auto& [monomial, coefficient] : side->above.terms) {
      if (monomial.empty()) {
        shift += coefficient * scale;
      } else if (monomial.size() == 1 && monomial[0].first == symbols[0] &&
                 monomial[0].second == kUnitExponent) {
        slope += coefficient * scale;
      } else {
        return std::nullopt;
      }
    }
  }
  if (slope == 0) {
    return std::nullopt;
  }
  flipped = slope < 0;
  return tree_.number(-shift / slope);
}

std::optional<NumberSet> NumberSets::link(int left, const std::string& op, int right) {
  if (op == "in") {
    return of(right);
  }
  const Node& side = tree_[left];
  if (side.kind == Kind::call && side.text == "abs" &&
      (op == "<" || op == "<=" || op == ">" || op == ">=") &&
      free_symbols(tree_, {right}, budget_).empty()) {
    const int inner = side.kids[0];  // |x - a| < c
    const int minus = tree_.make(Kind::product, {tree_.number(-1), right});
    const auto above = link(inner, op, right);
    const auto below = link(inner, flipped_op(op), minus);
    if (!above || !below) {
      return std::nullopt;
    }
    if (op[0] == '<') {
      return meet(*above, *below);
    }
    NumberSet both = *above;
    both.insert(both.end(), below->begin(), below->end());
    return tidy(std::move(both));
  }
  bool flipped = false;
  const auto bound = solve(left, right, flipped);
  if (!bound) {
    return std::nullopt;
  }
  const std::string o = flipped ? flipped_op(op) : op;
  bool negative = false;
  if (infinity(*bound, negative)) {
    if ((o == "<" || o == "<=") != negative) {
      return NumberSet{{}};
    }
    return NumberSet{};
  }
  if (o == "<" || o == "<=") {
    return NumberSet{{kInfinite, *bound, true, o == "<"}};
  }
  if (o == ">" || o == ">=") {
    return NumberSet{{*bound, kInfinite, o == ">", true}};
  }
  const NumberSet point{{*bound, *bound, false, false}};
  if (o == "=") {
    return point;
  }
  if (o == "!=") {
    return complement(point);
  }
  return std::nullopt;
}

std::optional<NumberSet> NumberSets::conditions(int node) {
  const Node n = tree_[node];
  if (n.kind == Kind::relation) {
    // f(2) < f(1) < f(4) orders names; it bounds no single symbol.
    std::size_t open_sides = 0;
    for (const int kid : n.kids) {
      open_sides += free_symbols(tree_, {kid}, budget_).empty() ? 0 : 1;
    }
    if (open_sides > 1 && n.kids.size() > 2) {
      return std::nullopt;
    }
    NumberSet out{{}};
    for (std::size_t i = 0; i < n.ops.size(); ++i) {
      const auto s = link(n.kids[i], n.ops[i], n.kids[i + 1]);
      if (!s) {
        return std::nullopt;
      }
      out = meet(out, *s);
    }
    return out;
  }
  if (n.kind == Kind::list) {
    if (free_symbols(tree_, {node}, budget_).size() > 1) {
      return std::nullopt;
    }
    std::optional<NumberSet> all;
    NumberSet any;
    for (const int kid : n.kids) {
      // "x >= 0, 1": the name goes on; (0,1) or (2,3): a union
      const bool interval = n.text == "or" && tree_[kid].kind == Kind::tuple;
      if (tree_[kid].kind != Kind::relation && !interval) {
        return std::nullopt;
      }
      const auto s = conditions(kid);
      if (!s) {
        return std::nullopt;
      }
      any.insert(any.end(), s->begin(), s->end());
      all = all ? meet(*all, *s) : *s;
    }
    if (n.text == "or" || !all || all->empty()) {
      return tidy(std::move(any));
    }
    return all;
  }
  return of(node);
}

std::optional<NumberSet> NumberSets::of(int node) {
  budget_.spend(5);
  const Node n = tree_[node];
  switch (n.kind) {
    case Kind::symbol:
      if (n.text == "reals" || n.text == "R") {
        return NumberSet{{}};
      }
      return std::nullopt;
    case Kind::text:
      return says_all_reals(n.text) ? std::optional<NumberSet>(NumberSet{{}}) : std::nullopt;
    case Kind::set: {
      NumberSet out;
      for (const int kid : n.kids) {
        if (!free_symbols(tree_, {kid}, budget_).empty()) {
          return std::nullopt;
        }
        if (tree_[kid].kind == Kind::tuple || tree_[kid].kind == Kind::relation ||
            tree_[kid].kind == Kind::text) {
          return std::nullopt;
        }
        out.push_back({kid, kid, false, false});
      }
      return tidy(std::move(out));
    }
    case Kind::tuple: {
      if (n.kids.size() != 2) {
        return std::nullopt;
      }
      Interval i{n.kids[0], n.kids[1], n.open == '(', n.close == ')'};
      bool negative = false;
      if (infinity(i.low, negative)) {
        if (!negative) {
          return std::nullopt;
        }
        if (!i.low_open) {
          return std::nullopt;  // infinity is no member
        }
        i.low = kInfinite;
      }
      if (infinity(i.high, negative)) {
        if (negative) {
          return std::nullopt;
        }
        if (!i.high_open) {
          return std::nullopt;
        }
        i.high = kInfinite;
      }
      for (const int end : {i.low, i.high}) {
        if (end != kInfinite && !free_symbols(tree_, {end}, budget_).empty()) {
          return std::nullopt;
        }
      }
      return tidy({i});
    }
    case Kind::merge: {
      const auto a = of(n.kids[0]);
      const auto b = a ? of(n.kids[1]) : std::nullopt;
      if (!a || !b) {
        return std::nullopt;
      }
      if (n.text == "cap") {
        return meet(*a, *b);
      }
      if (n.text == "setminus") {
        return meet(*a, complement(*b));
      }
      NumberSet all = *a;
      all.insert(all.end(), b->begin(), b->end());
      return tidy(std::move(all));
    }
    case Kind::builder: {
      const auto condition = conditions(n.kids[1]);
      if (!condition) {
        return std::nullopt;
      }
      if (tree_[n.kids[0]].kind == Kind::relation) {
        const auto domain = conditions(n.kids[0]);
        return domain ? std::optional<NumberSet>(meet(*domain, *condition)) : std::nullopt;
      }
      if (tree_[n.kids[0]].kind != Kind::symbol) {
        return std::nullopt;
      }
      return condition;
    }
    case Kind::relation:
    case Kind::list:
      return conditions(node);
    default:
      return std::nullopt;
  }
}

}  // namespace minirl::rl::verifier
