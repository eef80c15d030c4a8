// minirl rl/verifier/ball_arithmetic.h -- operations on numbers with error bounds; every one widens
// the bound by its own rounding.
#pragma once
#include "rl/verifier/ball.h"

namespace minirl::rl::verifier {

namespace mp = boost::multiprecision;

/// Work of one transcendental function.
inline constexpr std::int64_t kTranscendental = 1800;

const Real& epsilon();
Real pi_value();
Real size(const Ball& b);
bool is_real(const Ball& b);
bool may_be_zero(const Ball& b);
Ball rounded(Real re, Real im, Real error);
Ball exact(const Rational& q);
Ball plus(const Ball& a, const Ball& b);
Ball times(const Ball& a, const Ball& b);
/// f(x) with |f'| at most `slope` near x.
Ball image(const Ball& x, const Real& f, const Real& slope);
Ball inverse(const Ball& b);
Ball exponential(const Ball& x);
Ball square_root(const Ball& x);

}  // namespace minirl::rl::verifier
