#include "rl/verifier/normal_form.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::size_t kMostTerms = 600;
constexpr int kHighestPower = 60;

Polynomial constant(const Rational& value) {
  Polynomial p;
  if (value != 0) {
    p.terms.emplace(Monomial{}, value);
  }
  return p;
}
Polynomial generator(const std::string& name, int exponent) {
  Polynomial p;
  p.terms.emplace(Monomial{{name, exponent}}, 1);
  return p;
}

/// Both transcendental constants in one polynomial: nobody has proven them independent.
bool proven(const Polynomial& p) {
  bool pi = false;
  bool e = false;
  for (const auto& [monomial, coefficient] : p.terms) {
    for (const auto& [name, exponent] : monomial) {
      pi = pi || name == "pi";
      e = e || name == "e";
      if (name.starts_with("#?")) {
        return false;
      }
    }
  }
  return !(pi && e);
}

}  // namespace

std::optional<Rational> Polynomial::constant() const {
  if (terms.empty()) {
    return Rational(0);
  }
  if (terms.size() == 1 && terms.begin()->first.empty()) {
    return terms.begin()->second;
  }
  return std::nullopt;
}

void NormalForms::add_term(Polynomial& to, const Monomial& monomial, const Rational& coefficient) {
  budget_.spend(4 + static_cast<std::int64_t>(monomial.size()));
  const auto [it, is_new] = to.terms.emplace(monomial, coefficient);
  if (!is_new) {
    it->second = add(it->second, coefficient, budget_);
    if (it->second == 0) {
      to.terms.erase(it);
    }
  }
  if (to.terms.size() > kMostTerms) {
    throw Stop{"too many terms"};
  }
}

Polynomial NormalForms::plus(const Polynomial& a, const Polynomial& b, int sign) {
  Polynomial out = a;
  budget_.spend(static_cast<std::int64_t>(a.terms.size()));
  for (const auto& [monomial, coefficient] : b.terms) {
    add_term(out, monomial, sign < 0 ? Rational(-coefficient) : coefficient);
  }
  return out;
}

Polynomial NormalForms::times(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [ma, ca] : a.terms) {
    for (const auto& [mb, cb] : b.terms) {
      Rational coefficient = multiply(ca, cb, budget_);
      Monomial merged;
      std::size_t i = 0;
      std::size_t j = 0;
      while (i < ma.size() || j < mb.size()) {
        if (j == mb.size() || (i < ma.size() && ma[i].first < mb[j].first)) {
          merged.push_back(ma[i++]);
        } else if (i == ma.size() || mb[j].first < ma[i].first) {
          merged.push_back(mb[j++]);
        } else {
          std::string name = ma[i].first;
          int exponent = ma[i++].second + mb[j++].second;
          if (name[0] == '#' && exponent >= kUnitExponent) {  // sqrt(2) sqrt(2) = 2
            const std::string digits = name.substr(name[1] == '?' ? 2 : 1);
            coefficient = multiply(coefficient, Rational(Integer(digits)), budget_);
            exponent -= kUnitExponent;
          } else if (name == "i" && exponent >= 2 * kUnitExponent) {
            coefficient = -coefficient;
            exponent -= 2 * kUnitExponent;
          }
          if (exponent != 0) {
            merged.emplace_back(std::move(name), exponent);
          }
        }
      }
      add_term(out, merged, coefficient);
    }
  }
  return out;
}

std::optional<Quotient> NormalForms::raise(const Quotient& base, int exponent) {
  const int n = exponent < 0 ? -exponent : exponent;
  const auto above = base.above.constant();
  const auto below = base.below.constant();
  if (above && below) {
    const Rational value = multiply(*above, power(*below, -1, budget_), budget_);
    if (value == 0 && exponent <= 0) {
      throw Stop{"0 to the power of 0, or a division by 0"};
    }
    return Quotient{constant(power(value, exponent, budget_)), constant(1)};
  }
  if (n > kHighestPower) {
    return std::nullopt;
  }
  Quotient out{constant(1), constant(1)};
  for (int i = 0; i < n; ++i) {
    out = {times(out.above, base.above), times(out.below, base.below)};
  }
  if (exponent < 0) {
    if (out.above.is_zero()) {
      throw Stop{"a division by 0"};
    }
    std::swap(out.above, out.below);
  }
  return out;
}

/// value^(above/below) of a rational number, by the primes in it.
std::optional<Quotient> NormalForms::root(const Rational& value, int above, int below) {
  if (below <= 0 || kUnitExponent % below != 0 || below > 10 || above > 1000 || above < -1000) {
    return std::nullopt;
  }
  if (value == 0) {
    if (above <= 0) {
      throw Stop{"a division by 0"};
    }
    return Quotient{constant(0), constant(1)};
  }
  Quotient out{constant(1), constant(1)};
  Rational positive = value;
  if (value < 0) {
    positive = -value;
    if (below % 2 == 1) {
      if (above % 2 != 0) {
        out.above = constant(-1);
      }
    } else if (below == 2) {
      const auto imaginary = raise({generator("i", kUnitExponent), constant(1)},
                                   above < 0 ? (above % 4) + 4 : above % 4);
      if (!imaginary) {
        return std::nullopt;
      }
      out = *imaginary;
    } else {
      return std::nullopt;
    }
  }
  for (const bool inverted : {false, true}) {
    Integer rest = inverted ? denominator(positive) : numerator(positive);
    if (bits(rest) > 512) {
      return std::nullopt;
    }
    const int exponent = inverted ? -above : above;
    const auto factor = [&](const Integer& prime, int times_in, bool known_prime) {
      // prime^(times_in * exponent / below) = prime^whole * prime^(part / below)
      const std::int64_t all = static_cast<std::int64_t>(times_in) * exponent;
      const std::int64_t whole = all >= 0 ? all / below : -((-all + below - 1) / below);
      const int part = static_cast<int>(all - whole * below);
      if (whole > 4000 || whole < -4000) {
        throw Stop{"a power is too long"};
      }
      Polynomial p = constant(power(Rational(prime), static_cast<int>(whole), budget_));
      if (part > 0) {
        p = times(p, generator((known_prime ? "#" : "#?") + digits_of(prime),
                               part * (kUnitExponent / below)));
      }
      out.above = times(out.above, p);
    };
    const int limit = bits(rest) <= 40 ? 1 << 20 : 3000;
    for (int d = 2; d < limit && rest > 1 && rest >= Integer(d) * d; d += d == 2 ? 1 : 2) {
      budget_.spend(2);
      int times_in = 0;
      while (rest % d == 0) {
        rest /= d;
        ++times_in;
      }
      if (times_in > 0) {
        factor(d, times_in, true);
      }
    }
    if (rest > 1) {
      const bool prime = rest < Integer(limit) * limit;
      const Integer square_root = sqrt(rest);
      if (!prime && square_root * square_root == rest) {
        factor(square_root, 2, false);
      } else {
        factor(rest, 1, prime);
      }
    }
  }
  return out;
}

std::optional<Quotient> NormalForms::of(int node) {
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(d) {
      if (++depth > 4 * kDeepest) {
        throw Stop{"it nests too deeply"};
      }
    }
    ~Deeper() { --depth; }
  } const deeper(depth_);
  budget_.spend(4);
  const Node& n = tree_[node];
  switch (n.kind) {
    case Kind::number:
      return Quotient{constant(n.value), constant(1)};
    case Kind::symbol:
      if (n.text == "infinity" || n.text == "ldots" || n.text == "reals") {
        return std::nullopt;
      }
      return Quotient{generator(n.text, kUnitExponent), constant(1)};
    case Kind::sum: {
      Quotient out{constant(0), constant(1)};
      for (const int kid : n.kids) {
        const auto q = of(kid);
        if (!q) {
          return std::nullopt;
        }
        if (q->below.terms == out.below.terms) {
          for (const auto& [monomial, coefficient] : q->above.terms) {
            add_term(out.above, monomial, coefficient);
          }
        } else {
          out.above = plus(times(out.above, q->below), times(q->above, out.below), 1);
          out.below = times(out.below, q->below);
        }
      }
      return out;
    }
    case Kind::product: {
      Quotient out{constant(1), constant(1)};
      for (const int kid : n.kids) {
        const auto q = of(kid);
        if (!q) {
          return std::nullopt;
        }
        out.above = times(out.above, q->above);
        out.below = times(out.below, q->below);
      }
      return out;
    }
    case Kind::power: {
      const auto exponent = of(n.kids[1]);
      if (!exponent) {
        return std::nullopt;
      }
      const auto above = exponent->above.constant();
      const auto below = exponent->below.constant();
      if (!above || !below) {
        return std::nullopt;
      }
      const Rational e = multiply(*above, power(*below, -1, budget_), budget_);
      const auto base = of(n.kids[0]);
      if (!base) {
        return std::nullopt;
      }
      const auto whole = small_integer(e);
      if (whole) {
        return raise(*base, *whole);
      }
      if (is_integer(e)) {
        const auto value = base->above.constant();
        if (value && base->below.constant() && (*value == 1 || *value == 0)) {
          return Quotient{constant(*value), constant(1)};
        }
        throw Stop{"a power is too long"};
      }
      const auto p = small_integer(Rational(Integer(numerator(e))));
      const auto q = small_integer(Rational(Integer(denominator(e))));
      const auto base_above = base->above.constant();
      const auto base_below = base->below.constant();
      if (!p || !q || !base_above || !base_below) {
        return std::nullopt;
      }
      return root(multiply(*base_above, power(*base_below, -1, budget_), budget_), *p, *q);
    }
    case Kind::call: {
      std::vector<Rational> values;
      for (const int kid : n.kids) {
        const auto q = of(kid);
        if (!q) {
          return std::nullopt;
        }
        const auto above = q->above.constant();
        const auto below = q->below.constant();
        if (!above || !below) {
          return std::nullopt;
        }
        values.push_back(multiply(*above, power(*below, -1, budget_), budget_));
      }
      if (values.empty()) {
        return std::nullopt;
      }
      const auto first = small_integer(values[0]);
      if (n.text == "sqrt") {
        return root(values[0], 1, 2);
      }
      if (n.text == "cbrt") {
        return root(values[0], 1, 3);
      }
      if (n.text == "root" && values.size() == 2) {
        const auto index = small_integer(values[1]);
        return index ? root(values[0], 1, *index) : std::nullopt;
      }
      if (n.text == "abs") {
        return Quotient{constant(values[0] < 0 ? Rational(-values[0]) : values[0]), constant(1)};
      }
      if (n.text == "factorial" && is_integer(values[0]) && values[0] >= 0) {
        if (!first) {
          throw Stop{"a factorial is too long"};
        }
        return Quotient{constant(Rational(factorial(*first, budget_))), constant(1)};
      }
      if (n.text == "binom" && values.size() == 2) {
        const auto second = small_integer(values[1]);
        if (first && second && *first >= 0) {
          return Quotient{constant(Rational(binomial(*first, *second, budget_))), constant(1)};
        }
        return std::nullopt;
      }
      if (n.text == "arrange" && values.size() == 2) {
        const auto second = small_integer(values[1]);
        if (!first || !second || *first < 0 || *second < 0 || *second > *first) {
          return std::nullopt;
        }
        const Rational chosen(binomial(*first, *second, budget_));
        const Rational orders(factorial(*second, budget_));
        return Quotient{constant(multiply(chosen, orders, budget_)), constant(1)};
      }
      if (n.text == "mod" && values.size() == 2) {
        if (!is_integer(values[0]) || !is_integer(values[1]) || values[1] <= 0) {
          return std::nullopt;
        }
        const Integer modulus = numerator(values[1]);
        const Integer rest = numerator(values[0]) % modulus;
        return Quotient{constant(Rational(rest < 0 ? Integer(rest + modulus) : rest)), constant(1)};
      }
      if (n.text == "floor" || n.text == "ceil") {
        const Integer above = numerator(values[0]);
        const Integer below = denominator(values[0]);
        Integer whole = above / below;
        if (whole * below > above) {
          whole -= 1;
        }
        if (n.text == "ceil" && whole * below < above) {
          whole += 1;
        }
        return Quotient{constant(Rational(whole)), constant(1)};
      }
      if (n.text == "max" || n.text == "min" || n.text == "gcd" || n.text == "lcm") {
        Rational out = values[0];
        for (const Rational& v : values) {
          if (n.text == "max") {
            out = v > out ? v : out;
          } else if (n.text == "min") {
            out = v < out ? v : out;
          } else {
            if (!is_integer(v) || !is_integer(out) || bits(v) > 512 || bits(out) > 512) {
              return std::nullopt;
            }
            const Integer a = numerator(out);
            const Integer b = numerator(v);
            out = n.text == "gcd" ? Rational(Integer(gcd(a, b))) : Rational(Integer(lcm(a, b)));
          }
        }
        return Quotient{constant(out), constant(1)};
      }
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Quotient> NormalForms::difference(int a, int b) {
  const auto x = of(a);
  const auto y = x ? of(b) : std::nullopt;
  if (!x || !y) {
    return std::nullopt;
  }
  if (x->below.is_zero() || y->below.is_zero()) {
    throw Stop{"a division by 0"};
  }
  if (x->below.terms == y->below.terms) {
    return Quotient{plus(x->above, y->above, -1), x->below};
  }
  return Quotient{plus(times(x->above, y->below), times(y->above, x->below), -1),
                  times(x->below, y->below)};
}

NormalForms::Answer NormalForms::equal(int a, int b) {
  const auto x = of(a);
  const auto y = x ? of(b) : std::nullopt;
  if (!x || !y) {
    return Answer::unknown;
  }
  const auto p = x->above.constant();
  const auto q = y->above.constant();
  const auto one = [](const Polynomial& below) {
    const auto value = below.constant();
    return value && *value == 1;
  };
  // Two numbers need no subtraction (a gcd of long ones).
  if (p && q && one(x->below) && one(y->below)) {
    return *p == *q ? Answer::yes : Answer::no;
  }
  const auto d = difference(a, b);
  if (!d) {
    return Answer::unknown;
  }
  if (d->above.is_zero()) {
    return Answer::yes;
  }
  return proven(d->above) ? Answer::no : Answer::unknown;
}

NormalForms::Answer NormalForms::proportional(int a, int b, int c, int d, bool positive) {
  const auto x = difference(a, b);
  const auto y = difference(c, d);
  if (!x || !y) {
    return Answer::unknown;
  }
  if (x->above.is_zero() || y->above.is_zero()) {
    return x->above.is_zero() == y->above.is_zero() ? Answer::yes : Answer::no;
  }
  if (positive && (!x->below.constant() || !y->below.constant())) {
    return Answer::unknown;
  }
  // Numerators decide where the equation holds.
  const Monomial& lead = x->above.terms.rbegin()->first;
  const auto other = y->above.terms.find(lead);
  const auto has_roots = [](const Polynomial& p) {
    for (const auto& [monomial, coefficient] : p.terms) {
      for (const auto& [name, exponent] : monomial) {
        if (name[0] == '#' || name == "pi" || name == "e" || name == "i") {
          return true;
        }
      }
    }
    return false;
  };
  const bool irrational = has_roots(x->above) || has_roots(y->above);
  if (other == y->above.terms.end()) {
    return irrational ? Answer::unknown : Answer::no;
  }
  const Rational fx = x->above.terms.rbegin()->second;
  const Rational fy = other->second;
  if (positive) {
    const Rational ratio = fx * *y->below.constant() / (fy * *x->below.constant());
    if (ratio < 0) {
      return irrational ? Answer::unknown : Answer::no;
    }
  }
  if (plus(times(x->above, constant(fy)), times(y->above, constant(fx)), -1).is_zero()) {
    return Answer::yes;
  }
  return irrational ? Answer::unknown : Answer::no;
}

}  // namespace minirl::rl::verifier
