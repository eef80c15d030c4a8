#include "rl/verifier/normal_form.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::size_t kMostTerms = 600;
constexpr int kHighestPower = 60;

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
