// Normal forms of trees: operators and functions with exact values.
#include "rl/verifier/normal_form.h"

namespace minirl::rl::verifier {

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
    case Kind::call:
      return of_call(n);
    default:
      return std::nullopt;
  }
}

std::optional<Quotient> NormalForms::of_call(const Node& n) {
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
        out = n.text == "gcd" ? Rational(greatest_common_divisor(a, b)) : Rational(Integer(lcm(a, b)));
      }
    }
    return Quotient{constant(out), constant(1)};
  }
  return std::nullopt;
}

}  // namespace minirl::rl::verifier
