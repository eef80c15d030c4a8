// minirl core/fmath.h -- the only exp, log, sin and cos that a number of a run may come from (R9).
// Built from correctly rounded IEEE operations (+ - * / sqrt fma), so every compiler, instruction set
// and device that honours IEEE-754 returns the same bits. Straight-line code: loops over it vectorise.
// Derivations and error bounds: docs/math/fmath.md; checked over all floats by tests/core/fmath_test.cpp.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)
#define MINIRL_HD __host__ __device__
#else
#define MINIRL_HD
#endif
#if !defined(MINIRL_ISA)
#define MINIRL_ISA base  // see kernels/dispatch.h: keeps the variants of inline functions apart
#endif

namespace minirl::fmath {
inline namespace MINIRL_ISA {

template <class To, class From>
MINIRL_HD inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

MINIRL_HD inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MINIRL_HD inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
MINIRL_HD inline float sqrt(float x) { return __builtin_sqrtf(x); }
MINIRL_HD inline double sqrt(double x) { return __builtin_sqrt(x); }
template <class T> MINIRL_HD inline T max(T a, T b) { return a < b ? b : a; }
template <class T> MINIRL_HD inline T min(T a, T b) { return b < a ? b : a; }
template <class T> MINIRL_HD inline T abs(T x) { return x < T(0) ? -x : x; }

inline constexpr float kInfinityF = __builtin_huge_valf();
inline constexpr double kInfinity = __builtin_huge_val();

/// e^x, less than 1.06 ulp off (fm.1). Overflows to +inf above 88.72, gives subnormals and 0 below -87.3.
///   n = round(x / ln 2),  r = x - n ln 2,  |r| <= ln2/2,  e^x = 2^n (1 + r + r^2 q(r))
MINIRL_HD inline float exp(float x) {
  const float magic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer kept in the low bits
  float v = x > 89.0F ? 89.0F : x;  // NaN passes both comparisons
  v = v < -104.0F ? -104.0F : v;
  const float t = fma(v, 1.44269504F, magic);
  const float n = t - magic;
  float r = fma(n, -0.693359375F, v);      // 355/512: n times it is exact
  r = fma(n, 2.12194440e-4F, r);           // 355/512 - ln 2
  float q = 1.0F / 5040.0F;                // Taylor: the remainder r^8/8! is below 5.2e-9
  q = fma(q, r, 1.0F / 720.0F);
  q = fma(q, r, 1.0F / 120.0F);
  q = fma(q, r, 1.0F / 24.0F);
  q = fma(q, r, 1.0F / 6.0F);
  q = fma(q, r, 0.5F);
  const float p = fma(q, r * r, r) + 1.0F;
  const std::int32_t e = bits_as<std::int32_t>(t) - 0x4b400000;
  const std::int32_t half = e >> 1;  // two exact factors: the product rounds once, also when subnormal
  return p * bits_as<float>((half + 127) << 23) * bits_as<float>((e - half + 127) << 23);
}

/// e^x, at most 1 ulp off (fm.1).
MINIRL_HD inline double exp(double x) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52
  double v = x > 710.0 ? 710.0 : x;
  v = v < -746.0 ? -746.0 : v;
  const double t = fma(v, 1.4426950408889634, magic);
  const double n = t - magic;
  double r = fma(n, -6.93147180369123816490e-01, v);  // the high 33 bits of ln 2
  r = fma(n, -1.90821492927058770002e-10, r);
  double q = 1.0 / 6227020800.0;  // 1/13!: the remainder r^14/14! is below 4.2e-18
  q = fma(q, r, 1.0 / 479001600.0);
  q = fma(q, r, 1.0 / 39916800.0);
  q = fma(q, r, 1.0 / 3628800.0);
  q = fma(q, r, 1.0 / 362880.0);
  q = fma(q, r, 1.0 / 40320.0);
  q = fma(q, r, 1.0 / 5040.0);
  q = fma(q, r, 1.0 / 720.0);
  q = fma(q, r, 1.0 / 120.0);
  q = fma(q, r, 1.0 / 24.0);
  q = fma(q, r, 1.0 / 6.0);
  q = fma(q, r, 0.5);
  const double p = fma(q, r * r, r) + 1.0;
  const std::int64_t e = bits_as<std::int64_t>(t) - 0x4338000000000000LL;
  const std::int64_t half = e >> 1;
  return p * bits_as<double>((half + 1023) << 52) * bits_as<double>((e - half + 1023) << 52);
}

/// log(1 + f) + e ln 2 for f in [sqrt(1/2) - 1, sqrt(2) - 1] (fm.2):
///   s = f / (2 + f),  log(1 + f) = f - f^2/2 + s (f^2/2 + R),  R = 2/3 s^2 + 2/5 s^4 + ...
MINIRL_HD inline float log_reduced(float f, float e) {
  const float s = f / (2.0F + f);
  const float z = s * s;
  float R = 2.0F / 9.0F;  // the first term left out, 2/11 z^5, is below 4.1e-9 of 2
  R = fma(R, z, 2.0F / 7.0F);
  R = fma(R, z, 2.0F / 5.0F);
  R = fma(R, z, 2.0F / 3.0F);
  R = R * z;
  const float h = 0.5F * f * f;
  return fma(e, 0.693359375F, f - (h - fma(s, h + R, e * -2.12194440e-4F)));
}

/// Natural logarithm, at most 1 ulp off (fm.2). log(0) = -inf, negative = NaN.
MINIRL_HD inline float log(float x) {
  const bool tiny = x < 1.17549435e-38F;
  const float y = tiny ? x * 16777216.0F : x;
  const std::int32_t i = bits_as<std::int32_t>(bits_as<std::uint32_t>(y) - 0x3f3504f3U);  // sqrt(1/2)
  const float e = static_cast<float>((i >> 23) - (tiny ? 24 : 0));
  const float f = bits_as<float>((i & 0x007fffff) + 0x3f3504f3) - 1.0F;
  const float result = log_reduced(f, e);
  const float edge = x == 0.0F ? -kInfinityF : (x > 0.0F ? x : kInfinityF - kInfinityF);  // inf and NaN pass through
  return (x > 0.0F && x < kInfinityF) ? result : (x != x ? x : edge);
}

MINIRL_HD inline double log_reduced(double f, double e) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  double R = 2.0 / 23.0;  // the first term left out, 2/25 z^12, is below 4e-20
  R = fma(R, z, 2.0 / 21.0);
  R = fma(R, z, 2.0 / 19.0);
  R = fma(R, z, 2.0 / 17.0);
  R = fma(R, z, 2.0 / 15.0);
  R = fma(R, z, 2.0 / 13.0);
  R = fma(R, z, 2.0 / 11.0);
  R = fma(R, z, 2.0 / 9.0);
  R = fma(R, z, 2.0 / 7.0);
  R = fma(R, z, 2.0 / 5.0);
  R = fma(R, z, 2.0 / 3.0);
  R = R * z;
  const double h = 0.5 * f * f;
  return fma(e, 6.93147180369123816490e-01, f - (h - fma(s, h + R, e * 1.90821492927058770002e-10)));
}

/// Natural logarithm, at most 1 ulp off (fm.2).
MINIRL_HD inline double log(double x) {
  const bool tiny = x < 2.2250738585072014e-308;
  const double y = tiny ? x * 18014398509481984.0 : x;  // 2^54
  const std::int64_t i = bits_as<std::int64_t>(bits_as<std::uint64_t>(y) - 0x3fe6a09e667f3bcdULL);
  const double e = static_cast<double>((i >> 52) - (tiny ? 54 : 0));
  const double f = bits_as<double>((i & 0x000fffffffffffffLL) + 0x3fe6a09e667f3bcdLL) - 1.0;
  const double result = log_reduced(f, e);
  const double edge = x == 0.0 ? -kInfinity : (x > 0.0 ? x : kInfinity - kInfinity);
  return (x > 0.0 && x < kInfinity) ? result : (x != x ? x : edge);
}

/// log(1 + x) without cancellation near 0: log(u) x / (u - 1) with u = 1 + x (fm.3). A few ulp.
MINIRL_HD inline double log1p(double x) {
  const double u = 1.0 + x;
  if (u == 1.0) { return x; }
  if (!(u < kInfinity) || !(u > 0.0)) { return log(u); }
  return log(u) * (x / (u - 1.0));
}

/// e^x - 1 without cancellation near 0: (u - 1) x / log(u) with u = e^x (fm.4). A few ulp.
MINIRL_HD inline double expm1(double x) {
  const double u = exp(x);
  if (u == 1.0) { return x; }
  const double d = u - 1.0;
  if (d == -1.0 || !(u < kInfinity)) { return d; }
  return d * (x / log(u));
}

/// x^y for x > 0 as e^(y log x); the relative error grows with |y log x| (about that many ulp).
MINIRL_HD inline double pow(double x, double y) { return exp(y * log(x)); }

/// x = n pi/2 + r with |r| <= pi/4 (fm.5), for |x| <= 2^30.
MINIRL_HD inline double reduce_quarter(double x, std::int64_t* quadrant) {
  const double magic = 6755399441055744.0;
  const double t = fma(x, 0.63661977236758134308, magic);
  const double n = t - magic;
  *quadrant = bits_as<std::int64_t>(t) & 3;
  double r = fma(n, -1.57079632679489655800, x);
  r = fma(n, -6.12323399573676603587e-17, r);
  return fma(n, 1.49738490485916983294e-33, r);
}

/// Taylor polynomials on |r| <= pi/4: the remainders r^19/19! and r^20/20! are below 1e-19 (fm.6).
MINIRL_HD inline double sin_reduced(double r) {
  const double z = r * r;
  double p = 1.0 / 355687428096000.0;
  p = fma(p, z, -1.0 / 1307674368000.0);
  p = fma(p, z, 1.0 / 6227020800.0);
  p = fma(p, z, -1.0 / 39916800.0);
  p = fma(p, z, 1.0 / 362880.0);
  p = fma(p, z, -1.0 / 5040.0);
  p = fma(p, z, 1.0 / 120.0);
  p = fma(p, z, -1.0 / 6.0);
  return fma(p * z, r, r);
}
MINIRL_HD inline double cos_reduced(double r) {
  const double z = r * r;
  double p = -1.0 / 6402373705728000.0;
  p = fma(p, z, 1.0 / 20922789888000.0);
  p = fma(p, z, -1.0 / 87178291200.0);
  p = fma(p, z, 1.0 / 479001600.0);
  p = fma(p, z, -1.0 / 3628800.0);
  p = fma(p, z, 1.0 / 40320.0);
  p = fma(p, z, -1.0 / 720.0);
  p = fma(p, z, 1.0 / 24.0);
  p = fma(p, z, -0.5);
  return fma(p, z, 1.0);
}

/// Sine and cosine for |x| <= 2^30; absolute error below 2.3e-16 (fm.5, fm.6).
MINIRL_HD inline double sin(double x) {
  std::int64_t k = 0;
  const double r = reduce_quarter(x, &k);
  const double v = (k & 1) != 0 ? cos_reduced(r) : sin_reduced(r);
  return (k & 2) != 0 ? -v : v;
}
MINIRL_HD inline double cos(double x) {
  std::int64_t k = 0;
  const double r = reduce_quarter(x, &k);
  const double v = (k & 1) != 0 ? sin_reduced(r) : cos_reduced(r);
  return ((k + 1) & 2) != 0 ? -v : v;
}

}  // namespace MINIRL_ISA
}  // namespace minirl::fmath
