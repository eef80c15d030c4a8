#include "rl/verifier/rational.h"

#include <algorithm>

namespace minirl::rl::verifier {
namespace {

void charge(const Rational& a, const Rational& b, Budget& budget) {
  const std::int64_t limbs = 1 + (bits(a) + bits(b)) / 64;
  // Two integers need no long gcd.
  const bool whole = is_integer(a) && is_integer(b);
  budget.spend(2 + (whole ? limbs * limbs / 64 : limbs * limbs));
  if (bits(a) + bits(b) > 2 * kMostBits) {
    throw Stop{"a number is too long"};
  }
}

}  // namespace

std::string digits_of(const Integer& n) {
  std::string out;
  Integer rest = abs(n);
  do {
    out.push_back(static_cast<char>('0' + static_cast<int>(Integer(rest % 10))));
    rest /= 10;
  } while (rest != 0);
  if (n < 0) {
    out.push_back('-');
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::optional<int> small_integer(const Rational& q) {
  if (!is_integer(q) || bits(q) > 31) {
    return std::nullopt;
  }
  return static_cast<int>(numerator(q));
}

Rational add(const Rational& a, const Rational& b, Budget& budget) {
  charge(a, b, budget);
  return a + b;
}

Rational multiply(const Rational& a, const Rational& b, Budget& budget) {
  charge(a, b, budget);
  return a * b;
}

Rational power(const Rational& base, int exponent, Budget& budget) {
  const int n = exponent < 0 ? -exponent : exponent;
  if (base == 1 || base == 0) {
    return n == 0 ? Rational(1) : base;
  }
  if (base == -1) {
    return n % 2 == 0 ? Rational(1) : base;
  }
  if (static_cast<std::int64_t>(bits(base)) * n > static_cast<std::int64_t>(kMostBits) * 2) {
    throw Stop{"a power is too long"};
  }
  const std::int64_t limbs = 1 + static_cast<std::int64_t>(bits(base)) * n / 64;
  budget.spend(10 + limbs * limbs / 32);
  Rational out(boost::multiprecision::pow(Integer(numerator(base)), static_cast<unsigned>(n)),
               boost::multiprecision::pow(Integer(denominator(base)), static_cast<unsigned>(n)));
  return exponent < 0 ? Rational(1) / out : out;
}

Integer factorial(int n, Budget& budget) {
  if (n < 0 || n > 2400) {
    throw Stop{"a factorial is too long"};
  }
  budget.spend(n + static_cast<std::int64_t>(n) * n / 30);
  Integer out = 1;
  std::uint64_t few = 1;  // several factors in one word: four times fewer long products
  for (int i = 2; i <= n; ++i) {
    few *= static_cast<std::uint64_t>(i);
    if (few > (std::uint64_t{1} << 52) || i == n) {
      out *= few;
      few = 1;
    }
  }
  return out;
}

Integer binomial(int n, int k, Budget& budget) {
  if (k < 0 || n < 0 || k > n) {
    return 0;
  }
  k = std::min(k, n - k);
  if (k > 1000) {
    throw Stop{"a binomial is too long"};
  }
  budget.spend(10 * k + static_cast<std::int64_t>(k) * k / 20);
  Integer out = 1;
  for (int i = 1; i <= k; ++i) {
    out = out * (n - k + i) / i;
  }
  return out;
}

}  // namespace minirl::rl::verifier
