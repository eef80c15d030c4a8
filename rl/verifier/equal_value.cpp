// Numbers, expressions, ratios and quantities.
#include <algorithm>
#include <utility>

#include "rl/verifier/ball.h"
#include "rl/verifier/equal.h"
#include "rl/verifier/units.h"

namespace minirl::rl::verifier {
namespace {

/// Decimal places of a terminating decimal; -1: it does not terminate, or is very long.
int decimal_places(const Rational& q) {
  Integer below = denominator(q);
  if (bits(below) > 512) {
    return -1;
  }
  int twos = 0;
  int fives = 0;
  for (; below % 2 == 0; ++twos) {
    below /= 2;
  }
  for (; below % 5 == 0; ++fives) {
    below /= 5;
  }
  return below == 1 ? std::max(twos, fives) : -1;
}

/// A non-terminating fraction written out to at least 15 significant digits (the longest that a
/// double prints) is that fraction, if it is right to its last digit.
bool is_written_out(const Rational& decimal, const Rational& fraction) {
  constexpr int kFewestDigits = 15;
  const int places = decimal_places(decimal);
  if (places < kFewestDigits || places > 100 || decimal_places(fraction) >= 0 ||
      bits(fraction) > 512) {
    return false;
  }
  const Integer scale = boost::multiprecision::pow(Integer(10), static_cast<unsigned>(places));
  const Integer digits = numerator(Rational(decimal * scale));
  if (Integer(abs(digits)) < boost::multiprecision::pow(Integer(10), kFewestDigits - 1)) {
    return false;
  }
  return Rational(abs(Rational(decimal - fraction))) * scale < 1;
}

}  // namespace

bool Equality::is_scalar(int node) const {
  switch (tree_[node].kind) {
    case Kind::number:
    case Kind::symbol:
    case Kind::sum:
    case Kind::product:
    case Kind::power:
    case Kind::call:
    case Kind::degrees:
      return true;
    default:
      return false;
  }
}

int Equality::order(int a, int b) {
  if (same_value(a, b)) {
    return 0;
  }
  const auto x = constant_value(tree_, a, budget_);
  const auto y = constant_value(tree_, b, budget_);
  if (!x || !y || x->im != 0 || y->im != 0) {
    throw Stop{"an order of what is not real"};
  }
  const Real error = 8 * (x->error + y->error);
  if (x->re + error < y->re) {
    return -1;
  }
  if (y->re + error < x->re) {
    return 1;
  }
  const Node& p = tree_[a];
  const Node& q = tree_[b];
  if (p.kind == Kind::number && q.kind == Kind::number) {
    return p.value < q.value ? -1 : 1;
  }
  throw Stop{"two ends too near to each other"};
}

/// The same tree, node by node. Matrix products share nodes, so the walk has a limit of its own.
bool Equality::identical(int a, int b) const {
  constexpr int kMostNodes = 20'000;
  std::vector<std::pair<int, int>> todo{{a, b}};
  for (int visited = 0; !todo.empty(); ++visited) {
    if (visited == kMostNodes) {
      return false;
    }
    const auto [x, y] = todo.back();
    todo.pop_back();
    if (x == y) {
      continue;
    }
    const Node& p = tree_[x];
    const Node& q = tree_[y];
    if (p.kind != q.kind || p.text != q.text || p.kids.size() != q.kids.size() ||
        (p.kind == Kind::number && p.value != q.value)) {
      return false;
    }
    for (std::size_t i = 0; i < p.kids.size(); ++i) {
      todo.emplace_back(p.kids[i], q.kids[i]);
    }
  }
  return true;
}

bool Equality::same_value(int a, int b) {
  if (a == b) {
    return true;
  }
  const Node& p = tree_[a];
  const Node& q = tree_[b];
  if (p.kind == Kind::number && q.kind == Kind::number) {
    if (p.value != q.value &&
        (is_written_out(p.value, q.value) || is_written_out(q.value, p.value))) {
      return decide(true, "a fraction written out to 15 or more digits");
    }
    return decide(p.value == q.value, p.value == q.value ? "equal numbers" : "different numbers");
  }
  if (p.kind == Kind::symbol && q.kind == Kind::symbol) {
    return decide(p.text == q.text, p.text == q.text ? "the same symbol" : "different symbols");
  }
  const auto is_infinite = [&](const Node& n) {
    return (n.kind == Kind::symbol && (n.text == "infinity" || n.text == "reals")) ||
           (n.kind == Kind::product && std::any_of(n.kids.begin(), n.kids.end(), [&](int kid) {
              return tree_[kid].text == "infinity";
            }));
  };
  if (is_infinite(p) || is_infinite(q)) {
    if (!is_infinite(p) || !is_infinite(q)) {
      return decide(false, "one is infinite");
    }
    const auto negative = [&](const Node& n) {
      return n.kind == Kind::product && std::any_of(n.kids.begin(), n.kids.end(), [&](int kid) {
               return tree_[kid].kind == Kind::number && tree_[kid].value < 0;
             });
    };
    return decide(negative(p) == negative(q), "infinities by sign");
  }
  if (free_symbols(tree_, {a}, budget_).size() > 12) {
    throw Stop{"too many symbols"};
  }
  try {
    switch (forms_.equal(a, b)) {
      case NormalForms::Answer::yes:
        return decide(true, "equal normal forms");
      case NormalForms::Answer::no:
        return decide(false, "different normal forms");
      default:
        break;
    }
  } catch (const Stop& stop) {
    // Too long to compute: 5000! is still 5000!.
    if (stop.why.find("by 0") == std::string_view::npos && identical(a, b)) {
      return decide(true, "the same expression");
    }
    throw;
  }
  bool verdict = false;
  try {
    verdict = equal_numerically(tree_, a, b, budget_);
  } catch (const Stop& stop) {
    if (stop.why == "an unknown function" && identical(a, b)) {
      return decide(true, "the same expression");
    }
    throw;
  }
  return decide(verdict, verdict ? "equal to 100 digits at every sample point"
                                 : "different at a sample point");
}

bool Equality::same_ratio(int a, int b) {
  const Node p = tree_[a];
  const Node q = tree_[b];
  const auto clock = [](const Node& n) {
    const std::size_t colon = n.text.find(':');
    return n.kids.size() == 2 && n.text.size() == colon + 3 && colon <= 2 &&
           n.text[colon + 1] < '6' && n.text.find('?') == std::string::npos;
  };
  if (p.kind == Kind::ratio && q.kind == Kind::ratio) {
    if (p.kids.size() != q.kids.size()) {
      return decide(false, "ratios of different length");
    }
    if ((clock(p) && clock(q)) || same_ordered(p.kids, q.kids)) {
      return decide(same_ordered(p.kids, q.kids), "ratio, part by part");
    }
    for (std::size_t i = 1; i < p.kids.size(); ++i) {
      const int left = tree_.make(Kind::product, {p.kids[0], q.kids[i]});
      const int right = tree_.make(Kind::product, {q.kids[0], p.kids[i]});
      const int zero = tree_.number(0);
      if (!same_value(left, right) || same_value(p.kids[i], zero) || same_value(q.kids[i], zero) ||
          same_value(p.kids[0], zero) || same_value(q.kids[0], zero)) {
        return decide(false, "different ratios");
      }
    }
    return decide(true, "equal ratios");
  }
  const Node& ratio = p.kind == Kind::ratio ? p : q;
  const int other = p.kind == Kind::ratio ? b : a;
  if (ratio.kids.size() != 2 || !is_scalar(other) || same_value(ratio.kids[1], tree_.number(0))) {
    return decide(false, "a ratio and something else");
  }
  const int quotient = tree_.make(
      Kind::product, {ratio.kids[0], tree_.make(Kind::power, {ratio.kids[1], tree_.number(-1)})});
  return same_value(quotient, other);
}

/// "0.35 m" beside a quantity is one; elsewhere m is a symbol.
int Equality::unit_product(int node) {
  const Node n = tree_[node];
  if (n.kind != Kind::product || n.kids.size() != 2 || tree_[n.kids[0]].kind != Kind::number ||
      tree_[n.kids[1]].kind != Kind::symbol || !find_unit(tree_[n.kids[1]].text)) {
    return node;
  }
  return tree_.make(Kind::quantity, {n.kids[0]}, tree_[n.kids[1]].text);
}

bool Equality::same_quantity(int a, int b) {
  a = unit_product(a);
  b = unit_product(b);
  const Node p = tree_[a];
  const Node q = tree_[b];
  if (p.kind == Kind::quantity && q.kind == Kind::quantity) {
    const auto u = parse_unit(p.text);
    const auto v = parse_unit(q.text);
    if (u && v && !u->dimension.empty() && !v->dimension.empty()) {
      if (u->dimension != v->dimension) {
        return decide(false, "different units");
      }
      if (u->factor != v->factor) {
        if (!is_scalar(p.kids[0]) || !is_scalar(q.kids[0])) {
          return decide(false, "different units");
        }
        return same_value(tree_.make(Kind::product, {p.kids[0], tree_.number(u->factor)}),
                          tree_.make(Kind::product, {q.kids[0], tree_.number(v->factor)}));
      }
    }
    return same(p.kids[0], q.kids[0]);
  }
  return same(p.kind == Kind::quantity ? p.kids[0] : a, q.kind == Kind::quantity ? q.kids[0] : b);
}

}  // namespace minirl::rl::verifier
