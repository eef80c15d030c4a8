#include "core/fmath.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace fm = minirl::fmath;

namespace {

// Error of `got` in units of the last place of a float (double) near the exact value.
template <class T>
double ulps(T got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int digits = std::numeric_limits<T>::digits;
  const int least = std::numeric_limits<T>::min_exponent;  // subnormals have a fixed unit
  const long double unit = std::ldexp(1.0L, std::max(exponent, least) - digits);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - exact) / unit));
}

// All floats with MINIRL_EXHAUSTIVE=1 (a minute), every 61st otherwise (61 is odd, so that all low bits occur).
std::uint64_t stride() { return std::getenv("MINIRL_EXHAUSTIVE") != nullptr ? 1 : 61; }

constexpr double kExpUlps = 1.06, kLogUlps = 1.0;  // as docs/math/fmath.md states

}  // namespace

TEST_CASE("core/fmath: exp(float) is within 1.06 ulp over its whole range, subnormal results included") {
  double worst = 0;
  for (std::uint64_t u = 0; u <= 0xffffffffULL; u += stride()) {
    const float x = fm::bits_as<float>(static_cast<std::uint32_t>(u));
    if (!(x > -104.0F && x < 88.72283F)) { continue; }
    worst = std::max(worst, ulps(fm::exp(x), std::exp(static_cast<double>(x))));
  }
  CAPTURE(worst);
  CHECK(worst <= kExpUlps);
  CHECK(worst > 0.4);  // the measure itself works
}

TEST_CASE("core/fmath: log(float) is within 1 ulp over all positive floats") {
  double worst = 0;
  for (std::uint64_t u = 1; u < 0x7f800000ULL; u += stride()) {
    const float x = fm::bits_as<float>(static_cast<std::uint32_t>(u));
    if (x == 1.0F) { continue; }
    worst = std::max(worst, ulps(fm::log(x), std::log(static_cast<double>(x))));
  }
  CAPTURE(worst);
  CHECK(worst <= kLogUlps);
  CHECK(worst > 0.4);
}

TEST_CASE("core/fmath: special values of exp and log") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(fm::exp(0.0F) == 1.0F);
  CHECK(fm::exp(inf) == inf);
  CHECK(fm::exp(-inf) == 0.0F);
  CHECK(fm::exp(89.0F) == inf);
  CHECK(fm::exp(-104.0F) == 0.0F);
  CHECK(std::isnan(fm::exp(std::numeric_limits<float>::quiet_NaN())));
  CHECK(fm::log(1.0F) == 0.0F);
  CHECK(fm::log(0.0F) == -inf);
  CHECK(fm::log(-0.0F) == -inf);
  CHECK(fm::log(inf) == inf);
  CHECK(std::isnan(fm::log(-1.0F)));
  CHECK(std::isnan(fm::log(std::numeric_limits<float>::quiet_NaN())));
  const double infd = std::numeric_limits<double>::infinity();
  CHECK(fm::exp(0.0) == 1.0);
  CHECK(fm::exp(infd) == infd);
  CHECK(fm::exp(-infd) == 0.0);
  CHECK(fm::exp(-745.2) == 0.0);
  CHECK(std::isnan(fm::exp(std::numeric_limits<double>::quiet_NaN())));
  CHECK(fm::log(1.0) == 0.0);
  CHECK(fm::log(0.0) == -infd);
  CHECK(std::isnan(fm::log(-1.0)));
  CHECK(fm::log(infd) == infd);
}

TEST_CASE("core/fmath: double exp, log, expm1, log1p against long double") {
  double exp_worst = 0, log_worst = 0, expm1_worst = 0, log1p_worst = 0;
  for (int i = -200000; i <= 200000; ++i) {
    const double x = 0.0035 * i + 1e-9 * i * i / 7.0;
    exp_worst = std::max(exp_worst, ulps(fm::exp(x), std::exp(static_cast<long double>(x))));
    const double y = std::ldexp(1.0 + std::fabs(std::sin(i * 0.7)), i % 1000);
    if (y != 1.0) { log_worst = std::max(log_worst, ulps(fm::log(y), std::log(static_cast<long double>(y)))); }
    const double z = x * 1e-3;
    if (z != 0) {
      expm1_worst = std::max(expm1_worst, ulps(fm::expm1(z), std::expm1(static_cast<long double>(z))));
      if (z > -1) { log1p_worst = std::max(log1p_worst, ulps(fm::log1p(z), std::log1p(static_cast<long double>(z)))); }
    }
  }
  CAPTURE(exp_worst);
  CAPTURE(log_worst);
  CAPTURE(expm1_worst);
  CAPTURE(log1p_worst);
  CHECK(exp_worst <= 1.0);
  CHECK(log_worst <= 1.0);
  CHECK(expm1_worst <= 4.0);  // three roundings of a quotient of two functions
  CHECK(log1p_worst <= 4.0);
}

TEST_CASE("core/fmath: sin and cos keep an absolute error below 2.3e-16 up to a million radians") {
  long double worst = 0;
  for (int i = -100000; i <= 100000; ++i) {
    const double x = i * 10.123456789 + 1e-3 * (i % 97);
    worst = std::max(worst, std::fabs(static_cast<long double>(fm::sin(x)) - std::sin(static_cast<long double>(x))));
    worst = std::max(worst, std::fabs(static_cast<long double>(fm::cos(x)) - std::cos(static_cast<long double>(x))));
  }
  CHECK(worst < 2.3e-16L);
  CHECK(fm::sin(0.0) == 0.0);
  CHECK(fm::cos(0.0) == 1.0);
}
