// minirl rl/verifier/normal_form.h -- quotients of polynomials over the rationals in symbols, pi,
// e, i and roots of primes. Products of different prime roots with exponents in [0, 1) are linearly
// independent over Q, so a difference that does not vanish here does not vanish.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl/verifier/tree.h"

namespace minirl::rl::verifier {

/// (generator, exponent in units of 1/2520), ordered by generator. A generator is a symbol's name,
/// or "#p" for a prime p of which only roots occur.
using Monomial = std::vector<std::pair<std::string, int>>;
inline constexpr int kUnitExponent = 2520;  // divisible by 1..10

struct Polynomial {
  std::map<Monomial, Rational> terms;  // no zero coefficients
  bool is_zero() const { return terms.empty(); }
  /// The value if there are no generators.
  std::optional<Rational> constant() const;
};

struct Quotient {
  Polynomial above, below;
};

Polynomial constant(const Rational& value);
Polynomial generator(const std::string& name, int exponent);

class NormalForms {
 public:
  NormalForms(const Tree& tree, Budget& budget) : tree_(tree), budget_(budget) {}

  /// nullopt: the expression is no such quotient (a logarithm, a symbolic exponent, a root of a
  /// sum, ...).
  std::optional<Quotient> of(int node);

  enum class Answer { yes, no, unknown };
  /// Are two expressions the same element of the field? "no" is proven too.
  Answer equal(int a, int b);
  /// Are a - b and c - d the same up to a constant factor? With `positive`: a positive rational
  /// one.
  Answer proportional(int a, int b, int c, int d, bool positive);

  Polynomial plus(const Polynomial& a, const Polynomial& b, int sign);
  Polynomial times(const Polynomial& a, const Polynomial& b);

 private:
  std::optional<Quotient> of_call(const Node& n);
  std::optional<Quotient> raise(const Quotient& base, int exponent);
  std::optional<Quotient> root(const Rational& value, int above, int below);
  std::optional<Quotient> difference(int a, int b);
  void add_term(Polynomial& to, const Monomial& monomial, const Rational& coefficient);
  int depth_ = 0;
  const Tree& tree_;
  Budget& budget_;
};

}  // namespace minirl::rl::verifier
