// minirl rl/verifier/rational.h -- exact numbers of bounded size.
#pragma once
#include <optional>
#include <string>

#include <boost/multiprecision/cpp_int.hpp>

#include "rl/verifier/budget.h"

namespace minirl::rl::verifier {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

inline unsigned bits(const Integer& n) {
  return n == 0 ? 0 : static_cast<unsigned>(boost::multiprecision::msb(Integer(abs(n)))) + 1;
}
inline unsigned bits(const Rational& q) {
  return bits(Integer(numerator(q))) + bits(Integer(denominator(q)));
}
inline bool is_integer(const Rational& q) {
  return denominator(q) == 1;
}
/// Decimal digits, with a sign; for short numbers (quadratic).
std::string digits_of(const Integer& n);
/// The value of q if it is an integer of at most 30 bits.
std::optional<int> small_integer(const Rational& q);

/// Sums, products and powers count their work (a gcd is quadratic) and stop at kMostBits.
Rational add(const Rational& a, const Rational& b, Budget& budget);
Rational multiply(const Rational& a, const Rational& b, Budget& budget);
Rational power(const Rational& base, int exponent, Budget& budget);  // base != 0 or exponent > 0
Integer factorial(int n, Budget& budget);
Integer binomial(int n, int k, Budget& budget);

}  // namespace minirl::rl::verifier
