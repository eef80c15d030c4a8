#include "rl/verifier/ball.h"

#include <algorithm>

#include <boost/math/constants/constants.hpp>

#include "rl/verifier/ball_arithmetic.h"

namespace minirl::rl::verifier {

void Evaluator::set_point(int sample, bool whole, const std::vector<std::string>& symbols) {
  symbols_.clear();
  int k = 0;
  for (const auto& name : symbols) {
    // Points with different signs and sizes; no coordinate is a special value of the usual
    // functions.
    const int mixed = (37 * (k + 1) + 101 * sample + 29 * k * sample) % 211 + 17;
    Rational value = whole ? Rational(3 + (5 * k + 2 * sample + k * sample) % 11)
                           : Rational(mixed) / (61 + 6 * ((k + sample) % 5));
    if (!whole && (sample == 1 || sample == 4 || (sample == 3 && k % 2 == 0))) {
      value = -value;
    }
    symbols_[name] = exact(value);
    ++k;
  }
}

std::optional<Ball> Evaluator::at(int node) {
  try {
    return value(node, false);
  } catch (const Undefined&) {
    return std::nullopt;
  }
}

Ball Evaluator::value(int node, bool angle) {
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(d) {
      if (++depth > 4 * kDeepest) {
        throw Stop{"it nests too deeply"};
      }
    }
    ~Deeper() { --depth; }
  } const deeper(depth_);
  budget_.spend(25);
  const Node& n = tree_[node];
  const auto logarithm = [&](const Ball& x) {
    budget_.spend(kTranscendental);
    if (may_be_zero(x)) {
      throw Undefined{};
    }
    if (is_real(x)) {
      Ball out = image(x, mp::log(mp::abs(x.re)), 1 / x.re);
      if (x.re < 0) {
        out.im = pi_value();
      }
      return out;
    }
    budget_.spend(3 * kTranscendental);  // a root and an arc tangent as well
    const Real length = mp::sqrt(x.re * x.re + x.im * x.im);
    return rounded(mp::log(length), mp::atan2(x.im, x.re), 4 * x.error / length);
  };
  switch (n.kind) {
    case Kind::number:
      return exact(n.value);
    case Kind::symbol: {
      if (const auto it = symbols_.find(n.text); it != symbols_.end()) {
        return it->second;
      }
      if (n.text == "pi") {
        return rounded(pi_value(), 0, 0);
      }
      if (n.text == "e") {
        return rounded(boost::math::constants::e<Real>(), 0, 0);
      }
      if (n.text == "i") {
        return rounded(0, 1, 0);
      }
      throw Stop{"a symbol without a value"};
    }
    case Kind::degrees: {
      const Ball x = value(n.kids[0], false);
      return angle ? times(x, rounded(pi_value() / 180, 0, 0)) : x;
    }
    case Kind::sum: {
      Ball out;
      for (const int kid : n.kids) {
        out = plus(out, value(kid, angle));
      }
      return out;
    }
    case Kind::product: {
      Ball out = exact(1);
      for (const int kid : n.kids) {
        out = times(out, value(kid, angle));
      }
      return out;
    }
    case Kind::power: {
      const Ball base = value(n.kids[0], false);
      const Node& e = tree_[n.kids[1]];
      std::optional<Rational> rational;
      if (e.kind == Kind::number) {
        rational = e.value;
      }
      if (rational && small_integer(*rational) &&
          mp::abs(Real(*small_integer(*rational))) <= 20000) {
        int k = *small_integer(*rational);
        const bool below = k < 0;
        if (below) {
          k = -k;
        }
        if (below && may_be_zero(base)) {
          throw Undefined{};
        }
        Ball out = exact(1);
        Ball square = base;
        for (; k > 0; k /= 2) {
          budget_.spend(20);
          if (k % 2 == 1) {
            out = times(out, square);
          }
          if (k > 1) {
            square = times(square, square);
          }
        }
        return below ? inverse(out) : out;
      }
      const Ball exponent = value(n.kids[1], false);
      if (may_be_zero(base)) {
        if (is_real(exponent) && exponent.re > 4 * exponent.error && base.error == 0) {
          return Ball{};
        }
        throw Undefined{};
      }
      budget_.spend(2 * kTranscendental);
      if (is_real(base) && base.re < 0 && rational &&
          is_integer(Rational(Integer(denominator(*rational)) % 2)) &&
          denominator(*rational) % 2 == 1) {
        Ball positive = base;
        positive.re = -positive.re;
        Ball out = exponential(times(exponent, logarithm(positive)));
        if (numerator(*rational) % 2 != 0) {
          out.re = -out.re;
        }
        return out;
      }
      if (is_real(base) && base.re < 0 && is_real(exponent) &&
          mp::floor(exponent.re) == exponent.re) {
        Ball positive = base;
        positive.re = -positive.re;
        Ball out = exponential(times(exponent, logarithm(positive)));
        if (mp::fmod(exponent.re, Real(2)) != 0) {
          out.re = -out.re;
        }
        return out;
      }
      return exponential(times(exponent, logarithm(base)));
    }
    case Kind::call:
      break;
    default:
      throw Stop{"it is no number"};
  }
  std::vector<Ball> x;
  const bool takes_angle = n.text == "sin" || n.text == "cos" || n.text == "tan" ||
                           n.text == "sec" || n.text == "csc" || n.text == "cot";
  for (const int kid : n.kids) {
    x.push_back(value(kid, takes_angle));
  }
  if (x.empty()) {
    throw Stop{"a function without an argument"};
  }
  const std::string& f = n.text;
  if (f == "sqrt") {
    budget_.spend(40);
    return square_root(x[0]);
  }
  if (f == "root" || f == "cbrt") {
    const Node* index = f == "root" ? &tree_[n.kids[1]] : nullptr;
    if (index != nullptr && index->kind != Kind::number) {
      throw Stop{"a symbolic index of a root"};
    }
    const Rational k = index != nullptr ? index->value : Rational(3);
    if (numerator(k) == 0 || !is_integer(k)) {
      throw Undefined{};
    }
    if (numerator(k) == 2) {
      return square_root(x[0]);
    }
    if (may_be_zero(x[0])) {
      if (x[0].error == 0) {
        return Ball{};
      }
      throw Stop{"a root of almost 0"};
    }
    budget_.spend(kTranscendental);
    const bool flip = is_real(x[0]) && x[0].re < 0 && numerator(k) % 2 != 0;
    Ball base = x[0];
    if (flip) {
      base.re = -base.re;
    }
    Ball out = exponential(times(exact(1 / k), logarithm(base)));
    if (flip) {
      out.re = -out.re;
    }
    return out;
  }
  if (f == "abs") {
    if (is_real(x[0])) {
      Ball out = x[0];
      out.re = mp::abs(out.re);
      return out;
    }
    return rounded(mp::sqrt(x[0].re * x[0].re + x[0].im * x[0].im), 0, 2 * x[0].error);
  }
  if (f == "exp") {
    budget_.spend(is_real(x[0]) ? kTranscendental : 3 * kTranscendental);
    return exponential(x[0]);
  }
  if (f == "ln") {
    return logarithm(x[0]);
  }
  if (f == "log" || f == "log10") {
    const Ball natural = logarithm(x[0]);
    if (f == "log" && readings_.natural_log) {
      return natural;
    }
    return times(natural, inverse(logarithm(exact(10))));
  }
  for (const Ball& b : x) {
    if (!is_real(b)) {
      throw Undefined{};
    }
  }
  const Real& v = x[0].re;
  if (mp::abs(v) > 1000000) {
    throw Stop{"a number is too large"};
  }
  budget_.spend(kTranscendental);
  if (f == "sin") {
    return image(x[0], mp::sin(v), 1 + 0 * v);
  }
  if (f == "cos") {
    return image(x[0], mp::cos(v), 1 + 0 * v);
  }
  if (takes_angle) {
    const Ball s = image(x[0], mp::sin(v), 1 + 0 * v);
    const Ball c = image(x[0], mp::cos(v), 1 + 0 * v);
    const auto over = [](const Ball& a, const Ball& b) {
      if (size(b) <= 1000 * b.error + Real(1e-90)) {
        throw Undefined{};
      }
      return times(a, inverse(b));
    };
    if (f == "tan") {
      return over(s, c);
    }
    if (f == "cot") {
      return over(c, s);
    }
    return over(exact(1), f == "sec" ? c : s);
  }
  if (f == "arctan") {
    return image(x[0], mp::atan(v), 1 + 0 * v);
  }
  if (f == "arccot") {
    return image(x[0], pi_value() / 2 - mp::atan(v), 1 + 0 * v);
  }
  if (f == "arcsin" || f == "arccos") {
    const Real room = 1 - v * v;
    if (room < -4 * x[0].error - 4 * epsilon()) {
      throw Undefined{};
    }
    if (room <= 8 * (x[0].error + epsilon())) {
      const Real edge = v > 0 ? Real(pi_value() / 2) : Real(-pi_value() / 2);
      return rounded(f == "arcsin" ? edge : Real(pi_value() / 2 - edge), 0,
                     8 * mp::sqrt(x[0].error + epsilon()));
    }
    return image(x[0], f == "arcsin" ? mp::asin(v) : mp::acos(v), 1 / mp::sqrt(room));
  }
  if (f == "sinh" || f == "cosh" || f == "tanh") {
    const Ball up = exponential(x[0]);
    const Ball down = inverse(up);
    const Ball minus = times(exact(-1), down);
    const Ball s = times(plus(up, minus), exact(Rational(1) / 2));
    const Ball c = times(plus(up, down), exact(Rational(1) / 2));
    return f == "sinh" ? s : f == "cosh" ? c : times(s, inverse(c));
  }
  const auto whole = [](const Ball& b) {
    const Real r = mp::round(b.re);
    if (mp::abs(b.re - r) > 4 * b.error + epsilon() || mp::abs(r) > 300) {
      throw Stop{"a function of integers at another number"};
    }
    return static_cast<int>(r);
  };
  if (f == "factorial") {
    const int k = whole(x[0]);
    if (k < 0) {
      throw Undefined{};
    }
    return exact(Rational(factorial(k, budget_)));
  }
  if (f == "binom" && x.size() == 2) {
    const int above = whole(x[0]);
    const int below = whole(x[1]);
    return exact(Rational(binomial(above, below, budget_)));
  }
  if (f == "floor" || f == "ceil") {
    const Real down = mp::floor(v - 4 * x[0].error);
    const Real up = mp::floor(v + 4 * x[0].error);
    if (down != up) {
      throw Stop{"a floor at a jump"};
    }
    const bool jump = f == "ceil" && down < v;
    return rounded(jump ? Real(down + 1) : down, 0, 0);
  }
  if (f == "max" || f == "min") {
    Ball out = x[0];
    for (const Ball& b : x) {
      if (f == "max" ? b.re > out.re : b.re < out.re) {
        out = b;
      }
    }
    return out;
  }
  throw Stop{"an unknown function"};
}

}  // namespace minirl::rl::verifier
