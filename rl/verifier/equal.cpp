#include "rl/verifier/equal.h"

#include <algorithm>
#include <array>

#include "rl/verifier/ball.h"
#include "rl/verifier/units.h"

namespace minirl::rl::verifier {
namespace {

bool says_no_solution(const std::string& words) {
  static constexpr std::array<std::string_view, 14> kSayings{
      "no solution", "no solutions",    "no real solution",     "no real solutions",
      "none",        "empty set",       "the empty set",        "no such",
      "no values",   "no real numbers", "there is no solution", "there are no solutions",
      "no value",    "no roots"};
  return std::find(kSayings.begin(), kSayings.end(), words) != kSayings.end();
}

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

std::string_view reversed(const std::string& op) {
  return op == "<"    ? ">"
         : op == "<=" ? ">="
         : op == ">"  ? "<"
         : op == ">=" ? "<="
                      : std::string_view(op);
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

bool Equality::has_signs(int node) {
  std::vector<int> todo{node};
  while (!todo.empty()) {
    budget_.spend(1);
    const Node& n = tree_[todo.back()];
    todo.pop_back();
    if (n.kind == Kind::sign) {
      return true;
    }
    todo.insert(todo.end(), n.kids.begin(), n.kids.end());
  }
  return false;
}

int Equality::with_sign(int node, bool plus) {
  budget_.spend(5);
  if (!has_signs(node)) {
    return node;
  }
  Node n = tree_[node];
  if (n.kind == Kind::sign) {
    const int inner = with_sign(n.kids[0], plus);
    const bool positive = plus == (n.text == "+-");
    return positive ? inner : tree_.make(Kind::product, {tree_.number(-1), inner});
  }
  for (int& kid : n.kids) {
    kid = with_sign(kid, plus);
  }
  return tree_.add(std::move(n));
}

/// The members of a list or set, both signs written out; a single answer is a list of one.
std::vector<int> Equality::elements(int node) {
  std::vector<int> out;
  const Kind kind = tree_[node].kind;
  const std::vector<int> kids =
      kind == Kind::list || kind == Kind::set ? tree_[node].kids : std::vector<int>{node};
  for (const int kid : kids) {
    if (has_signs(kid)) {
      out.push_back(with_sign(kid, true));
      out.push_back(with_sign(kid, false));
    } else {
      out.push_back(kid);
    }
  }
  return out;
}

bool Equality::same_unordered(const std::vector<int>& a, const std::vector<int>& b, bool as_sets) {
  if (a.size() > 64 || b.size() > 64) {
    if (a.size() != b.size()) {
      return false;
    }
    return same_ordered(a, b);
  }
  if (!as_sets && a.size() != b.size()) {
    return false;
  }
  std::vector<bool> used(b.size(), false);
  for (const int x : a) {
    bool found = false;
    for (std::size_t j = 0; j < b.size() && !found; ++j) {
      if (used[j] && !as_sets) {
        continue;
      }
      if (same(x, b[j])) {
        found = used[j] = true;
      }
    }
    if (!found) {
      return false;
    }
  }
  if (as_sets) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (!used[j] && std::none_of(a.begin(), a.end(), [&](int x) { return same(x, b[j]); })) {
        return false;
      }
    }
  }
  return true;
}

bool Equality::same_ordered(const std::vector<int>& a, const std::vector<int>& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) {
      return false;
    }
  }
  return true;
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

bool Equality::identical(int a, int b, int depth) const {
  if (depth > kDeepest) {
    return false;
  }
  const Node& p = tree_[a];
  const Node& q = tree_[b];
  if (p.kind != q.kind || p.text != q.text || p.kids.size() != q.kids.size() ||
      (p.kind == Kind::number && p.value != q.value)) {
    return false;
  }
  for (std::size_t i = 0; i < p.kids.size(); ++i) {
    if (!identical(p.kids[i], q.kids[i], depth + 1)) {
      return false;
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
    if (stop.why.find("by 0") == std::string_view::npos && identical(a, b, 0)) {
      return decide(true, "the same expression");
    }
    throw;
  }
  const bool verdict = equal_numerically(tree_, a, b, budget_);
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

bool Equality::same_quantity(int a, int b) {
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
  const auto kind = [&](int node) { return tree_[node].kind; };
  const auto either = [&](Kind k) { return kind(a) == k || kind(b) == k; };

  // Names and equations.
  if (either(Kind::relation)) {
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
  }
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

  // Sets of reals.
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
  if (kind(a) == Kind::relation && kind(b) == Kind::relation) {
    return same_relation(a, b);
  }

  // Words.
  if (either(Kind::text) || either(Kind::prose)) {
    const auto empty = [&](int node) {
      return kind(node) == Kind::set && tree_[node].kids.empty();
    };
    const bool no_a = kind(a) == Kind::text && says_no_solution(tree_[a].text);
    const bool no_b = kind(b) == Kind::text && says_no_solution(tree_[b].text);
    if ((no_a || empty(a)) && (no_b || empty(b))) {
      return decide(true, "both say that there is none");
    }
    if (kind(a) != Kind::text || kind(b) != Kind::text) {
      if (kind(a) == Kind::prose && kind(b) == Kind::prose) {
        return decide(
            tree_[a].text == tree_[b].text &&
                same_ordered(std::vector<int>(tree_[a].kids), std::vector<int>(tree_[b].kids)),
            "the same words around the same mathematics");
      }
      return decide(false, "words and mathematics");
    }
    const bool equal = tree_[a].text == tree_[b].text;
    return decide(equal, equal ? "the same words" : "different words");
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

  // Matrices and vectors.
  if (either(Kind::matrix)) {
    const Node p = tree_[a];
    const Node q = tree_[b];
    if (p.kind == q.kind) {
      return decide(p.columns == q.columns && same_ordered(p.kids, q.kids),
                    "matrices, entry by entry");
    }
    const Node& m = p.kind == Kind::matrix ? p : q;
    const Node& other = p.kind == Kind::matrix ? q : p;
    const bool vector = m.columns == 1 || static_cast<std::size_t>(m.columns) == m.kids.size();
    if (other.kind == Kind::tuple && vector) {
      return decide(same_ordered(m.kids, other.kids), "a vector, entry by entry");
    }
    if (m.kids.size() == 1) {
      return same(p.kind == Kind::matrix ? p.kids[0] : a, q.kind == Kind::matrix ? q.kids[0] : b);
    }
    return decide(false, "a matrix and something else");
  }

  // Several values.
  if (either(Kind::list) || either(Kind::set) || has_signs(a) || has_signs(b)) {
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
  if (kind(a) == Kind::tuple && kind(b) == Kind::tuple) {
    const Node p = tree_[a];
    const Node q = tree_[b];
    if (p.open != q.open || p.close != q.close) {
      return decide(false, "different ends");
    }
    return decide(same_ordered(p.kids, q.kids), "tuples, entry by entry");
  }
  if (is_scalar(a) && is_scalar(b)) {
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
  return decide(false, "different kinds of answers");
}

}  // namespace minirl::rl::verifier
