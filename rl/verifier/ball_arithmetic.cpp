#include "rl/verifier/ball_arithmetic.h"

#include <utility>

#include <boost/math/constants/constants.hpp>

namespace minirl::rl::verifier {

const Real& epsilon() {
  static const Real e = mp::pow(Real(10), -104);
  return e;
}
Real pi_value() {
  return boost::math::constants::pi<Real>();
}

Real size(const Ball& b) {
  return mp::abs(b.re) + mp::abs(b.im);
}
bool is_real(const Ball& b) {
  return b.im == 0;
}
bool may_be_zero(const Ball& b) {
  return size(b) <= 4 * b.error;
}

Ball rounded(Real re, Real im, Real error) {
  if (!(mp::isfinite)(re) || !(mp::isfinite)(im) || !(mp::isfinite)(error)) {
    throw Stop{"a number is too large"};
  }
  Ball out;
  out.re = std::move(re);
  out.im = std::move(im);
  out.error = error + size(out) * epsilon();
  return out;
}
Ball exact(const Rational& q) {
  return rounded(Real(Integer(numerator(q))) / Real(Integer(denominator(q))), 0, 0);
}
Ball plus(const Ball& a, const Ball& b) {
  return rounded(a.re + b.re, a.im + b.im, a.error + b.error + (size(a) + size(b)) * epsilon());
}
Ball times(const Ball& a, const Ball& b) {
  return rounded(
      a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re,
      size(a) * b.error + size(b) * a.error + a.error * b.error + size(a) * size(b) * epsilon());
}
/// f(x) with |f'| at most `slope` near x.
Ball image(const Ball& x, const Real& f, const Real& slope) {
  if (x.error > Real(1e-20) * (1 + size(x))) {
    throw Stop{"the error grows too large"};
  }
  return rounded(f, 0, 2 * mp::abs(slope) * x.error);
}

Ball inverse(const Ball& b) {
  const Real norm = b.re * b.re + b.im * b.im;
  const Real length = mp::sqrt(norm);
  if (b.error * 4 > length) {
    throw Stop{"a division by almost 0"};
  }
  return rounded(b.re / norm, -b.im / norm, 2 * b.error / norm + epsilon() / length);
}

Ball exponential(const Ball& x) {
  if (mp::abs(x.re) > 100000) {
    throw Stop{"a number is too large"};
  }
  const Real e = mp::exp(x.re);
  if (x.error > Real(1e-20)) {
    throw Stop{"the error grows too large"};
  }
  if (is_real(x)) {
    return rounded(e, 0, 2 * e * x.error + e * epsilon() * (1 + mp::abs(x.re)));
  }
  if (mp::abs(x.im) > 1000000) {
    throw Stop{"a number is too large"};
  }
  return rounded(e * mp::cos(x.im), e * mp::sin(x.im),
                 4 * e * x.error + e * epsilon() * (1 + size(x)));
}

Ball square_root(const Ball& x) {
  if (is_real(x)) {
    if (mp::abs(x.re) <= x.error * 4) {
      return rounded(0, 0, 2 * mp::sqrt(x.error));
    }
    const Real r = mp::sqrt(mp::abs(x.re));
    return rounded(x.re > 0 ? r : Real(0), x.re > 0 ? Real(0) : r, x.error / r);
  }
  const Real length = mp::sqrt(x.re * x.re + x.im * x.im);
  Real a = mp::sqrt((length + mp::abs(x.re)) / 2);
  Real b = mp::abs(x.im) / (2 * a);
  if (x.re < 0) {
    std::swap(a, b);
  }
  return rounded(a, x.im < 0 ? Real(-b) : b, 4 * x.error / mp::sqrt(length));
}

}  // namespace minirl::rl::verifier
