// The verifier's own fractions against those of Boost.Multiprecision.
#include "rl/verifier/rational.h"

#include <vector>

#include <doctest/doctest.h>

#include "core/rng.h"

namespace minirl::rl::verifier {
namespace {

using Library = boost::multiprecision::cpp_rational;

Integer number(rng::Random& random, int words) {
  Integer out = 0;
  for (int i = 0; i < words; ++i) {
    out = (out << 32) + random.bits();
  }
  return random.below(2) == 0 ? out : Integer(-out);
}

bool same(const Rational& ours, const Library& library) {
  return ours.above() == boost::multiprecision::numerator(library) &&
         ours.below() == boost::multiprecision::denominator(library);
}

}  // namespace

TEST_CASE("rl/rational: the greatest common divisor is the library's, for every length") {
  rng::Random random(rng::Key::of(1, rng::Stream::sample));
  for (int round = 0; round < 3000; ++round) {
    const Integer common = number(random, static_cast<int>(random.below(12)));
    const Integer a = common * number(random, static_cast<int>(random.below(20)));
    const Integer b = common * number(random, static_cast<int>(random.below(20)));
    CHECK(greatest_common_divisor(a, b) == Integer(gcd(a, b)));
  }
  // Consecutive Fibonacci numbers: every quotient is 1, the longest way.
  Integer x = 1;
  Integer y = 1;
  for (int i = 0; i < 2000; ++i) {
    CHECK(greatest_common_divisor(x, y) == 1);
    x += y;
    x.swap(y);
  }
}

TEST_CASE("rl/rational: arithmetic, order and digits are the library's") {
  rng::Random random(rng::Key::of(2, rng::Stream::sample));
  for (int round = 0; round < 2000; ++round) {
    std::vector<Rational> ours;
    std::vector<Library> library;
    for (int i = 0; i < 2; ++i) {
      const Integer above = number(random, static_cast<int>(random.below(5)));
      Integer below = number(random, static_cast<int>(random.below(5)));
      below = below == 0 ? Integer(1) : below;
      ours.emplace_back(above, below);
      library.emplace_back(below < 0 ? Integer(-above) : above, Integer(abs(below)));
      CHECK(same(ours.back(), library.back()));
      CHECK(digits_of(above) == above.str());
    }
    CHECK(same(ours[0] + ours[1], library[0] + library[1]));
    CHECK(same(ours[0] - ours[1], library[0] - library[1]));
    CHECK(same(ours[0] * ours[1], library[0] * library[1]));
    if (library[1] != 0) {
      CHECK(same(ours[0] / ours[1], library[0] / library[1]));
    }
    CHECK((ours[0] < ours[1]) == (library[0] < library[1]));
    CHECK((ours[0] == ours[1]) == (library[0] == library[1]));
  }
  for (const char* digits : {"0", "7", "999999999999999999", "1000000000000000000", "-1000000000000000001000000000000000000"}) {
    CHECK(digits_of(Integer(digits)) == digits);
  }
}

}  // namespace minirl::rl::verifier
