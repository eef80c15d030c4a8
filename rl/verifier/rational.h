// minirl rl/verifier/rational.h -- exact numbers of bounded size.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <utility>

#include <boost/multiprecision/cpp_int.hpp>

#include "rl/verifier/budget.h"

namespace minirl::rl::verifier {

using Integer = boost::multiprecision::cpp_int;

/// The greatest common divisor, not negative, by Lehmer's algorithm (Knuth, TAOCP 2, 4.5.2 L): leading 62 bits decide
/// about 31 bits of quotients before the long numbers are touched. The library's is binary and takes as long for (a, 1)
/// as for two long numbers.
Integer greatest_common_divisor(Integer a, Integer b);

/// A fraction in lowest terms with a positive denominator. Whole numbers never pay for a gcd.
class Rational {
 public:
  Rational() = default;
  template <std::integral T>
  Rational(T n) : above_(n) {}                     // NOLINT: a number is a rational
  Rational(Integer n) : above_(std::move(n)) {}    // NOLINT
  Rational(Integer above, Integer below);          // below != 0

  const Integer& above() const { return above_; }
  const Integer& below() const { return below_; }

  Rational operator-() const;
  Rational& operator+=(const Rational& b) { return *this = *this + b; }
  Rational& operator-=(const Rational& b) { return *this = *this - b; }
  Rational& operator*=(const Rational& b) { return *this = *this * b; }
  Rational& operator/=(const Rational& b) { return *this = *this / b; }

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b) { return a + (-b); }
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);  // b != 0
  friend bool operator==(const Rational& a, const Rational& b) { return a.above_ == b.above_ && a.below_ == b.below_; }
  friend bool operator<(const Rational& a, const Rational& b);
  friend bool operator>(const Rational& a, const Rational& b) { return b < a; }
  friend bool operator<=(const Rational& a, const Rational& b) { return !(b < a); }
  friend bool operator>=(const Rational& a, const Rational& b) { return !(a < b); }

 private:
  Integer above_ = 0;
  Integer below_ = 1;
};

inline const Integer& numerator(const Rational& q) {
  return q.above();
}
inline const Integer& denominator(const Rational& q) {
  return q.below();
}
inline Rational abs(const Rational& q) {
  return q.above() < 0 ? -q : q;
}
inline unsigned bits(const Integer& n) {
  return n == 0 ? 0 : static_cast<unsigned>(boost::multiprecision::msb(Integer(abs(n)))) + 1;
}
inline unsigned bits(const Rational& q) {
  return bits(q.above()) + bits(q.below());
}
inline bool is_integer(const Rational& q) {
  return q.below() == 1;
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
