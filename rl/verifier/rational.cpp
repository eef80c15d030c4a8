#include "rl/verifier/rational.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace minirl::rl::verifier {
namespace {

void charge(const Rational& a, const Rational& b, Budget& budget) {
  const std::int64_t limbs = 1 + (bits(a) + bits(b)) / 64;
  // Whole numbers need no gcd.
  const bool whole = is_integer(a) && is_integer(b);
  budget.spend(2 + (whole ? limbs * limbs / 64 : limbs * limbs / 4));
  if (bits(a) + bits(b) > 2 * kMostBits) {
    throw Stop{"a number is too long"};
  }
}

Integer divided(const Integer& n, const Integer& by) {
  return by == 1 ? n : Integer(n / by);
}

}  // namespace

Integer greatest_common_divisor(Integer a, Integer b) {
  a = abs(a);
  b = abs(b);
  if (a < b) {
    a.swap(b);
  }
  while (bits(b) > 64) {
    const unsigned shift = bits(a) - 62;
    auto x = static_cast<std::int64_t>(Integer(a >> shift));
    auto y = static_cast<std::int64_t>(Integer(b >> shift));
    // a' = p a + q b and b' = r a + s b, as far as the leading bits prove the quotients.
    std::int64_t p = 1;
    std::int64_t q = 0;
    std::int64_t r = 0;
    std::int64_t s = 1;
    while (y + r != 0 && y + s != 0) {
      const std::int64_t quotient = (x + p) / (y + r);
      if (quotient != (x + q) / (y + s)) {
        break;
      }
      p = std::exchange(r, p - quotient * r);
      q = std::exchange(s, q - quotient * s);
      x = std::exchange(y, x - quotient * y);
    }
    if (q == 0) {
      a %= b;
      a.swap(b);
    } else {
      Integer next = p * a + q * b;
      b = r * a + s * b;
      a = std::move(next);
    }
  }
  if (b == 0) {
    return a;
  }
  const auto word = static_cast<std::uint64_t>(b);
  return std::gcd(word, static_cast<std::uint64_t>(Integer(a % word)));
}

Rational::Rational(Integer above, Integer below) : above_(std::move(above)), below_(std::move(below)) {
  if (below_ < 0) {
    above_ = -above_;
    below_ = -below_;
  }
  if (below_ != 1) {
    const Integer common = greatest_common_divisor(above_, below_);
    above_ = divided(above_, common);
    below_ = divided(below_, common);
  }
}

Rational Rational::operator-() const {
  Rational out = *this;
  out.above_ = -out.above_;
  return out;
}

Rational operator+(const Rational& a, const Rational& b) {
  Rational out;
  if (a.below_ == 1 && b.below_ == 1) {
    out.above_ = a.above_ + b.above_;
    return out;
  }
  // Only primes that both denominators have can cancel (Knuth, TAOCP 2, 4.5.1).
  const Integer common = greatest_common_divisor(a.below_, b.below_);
  const Integer a_rest = divided(a.below_, common);
  out.above_ = a.above_ * divided(b.below_, common) + b.above_ * a_rest;
  const Integer cancel = common == 1 ? Integer(1) : greatest_common_divisor(out.above_, common);
  out.above_ = divided(out.above_, cancel);
  out.below_ = a_rest * divided(b.below_, cancel);
  return out;
}

Rational operator*(const Rational& a, const Rational& b) {
  Rational out;
  const Integer one = b.below_ == 1 ? Integer(1) : greatest_common_divisor(a.above_, b.below_);
  const Integer two = a.below_ == 1 ? Integer(1) : greatest_common_divisor(b.above_, a.below_);
  out.above_ = divided(a.above_, one) * divided(b.above_, two);
  out.below_ = divided(a.below_, two) * divided(b.below_, one);
  return out;
}

Rational operator/(const Rational& a, const Rational& b) {
  Rational inverse;
  inverse.above_ = b.above_ < 0 ? Integer(-b.below_) : b.below_;
  inverse.below_ = abs(b.above_);
  return a * inverse;
}

bool operator<(const Rational& a, const Rational& b) {
  return a.above_ * b.below_ < b.above_ * a.below_;
}

std::string digits_of(const Integer& n) {
  constexpr std::uint64_t kPiece = 1'000'000'000'000'000'000;  // 18 digits: so many times fewer long divisions
  std::string out;
  Integer rest = abs(n);
  do {
    auto piece = static_cast<std::uint64_t>(Integer(rest % kPiece));
    rest /= kPiece;
    for (int i = 0; i < 18 && (rest != 0 || piece != 0 || out.empty()); ++i, piece /= 10) {
      out.push_back(static_cast<char>('0' + piece % 10));
    }
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
  budget.spend(n + static_cast<std::int64_t>(n) * n / 500);
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
  budget.spend(10 * k + static_cast<std::int64_t>(k) * k / 100);
  Integer out = 1;
  for (int i = 1; i <= k; ++i) {
    out = out * (n - k + i) / i;
  }
  return out;
}

}  // namespace minirl::rl::verifier
