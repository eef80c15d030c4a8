// minirl kernels/reference/rows.h -- the row ops as plain loops, straight from docs/math, for any scalar type:
// double gives the values, std::complex<double> the complex-step derivatives. They share no code with
// the kernels; the order of their sums is the plain one, so they are compared within rounding.
#pragma once
#include <cmath>
#include <complex>
#include <vector>

#include "core/index.h"

namespace minirl::kernels::reference {

template <class S>
std::vector<S> rmsnorm(const std::vector<S>& x, const std::vector<S>& w, double eps) {
  const std::size_t D = w.size();
  std::vector<S> y(x.size());
  for (std::size_t r = 0; r < x.size() / D; ++r) {
    S squares = 0;
    for (std::size_t i = 0; i < D; ++i) { squares += x[r * D + i] * x[r * D + i]; }
    const S inverse = 1.0 / std::sqrt(squares / static_cast<double>(D) + eps);  // (rms.1)
    for (std::size_t i = 0; i < D; ++i) { y[r * D + i] = x[r * D + i] * inverse * w[i]; }
  }
  return y;
}

/// One head of width d at one position.                                        (rope.1-2)
template <class S>
std::vector<S> rope(const std::vector<S>& x, double position, double theta) {
  const std::size_t h = x.size() / 2;
  std::vector<S> y(x.size());
  for (std::size_t i = 0; i < h; ++i) {
    const double angle = position * std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(2 * h));
    y[i] = x[i] * std::cos(angle) - x[i + h] * std::sin(angle);
    y[i + h] = x[i + h] * std::cos(angle) + x[i] * std::sin(angle);
  }
  return y;
}

template <class S>
std::vector<S> swiglu(const std::vector<S>& gate, const std::vector<S>& up) {
  std::vector<S> y(gate.size());
  for (std::size_t i = 0; i < y.size(); ++i) { y[i] = gate[i] / (1.0 + std::exp(-gate[i])) * up[i]; }  // (swi.1)
  return y;
}

template <class S>
struct LogProbEntropy {
  S logp, entropy;
};
/// One row of logits.                                                           (lp.1-4)
template <class S>
LogProbEntropy<S> logprob(const std::vector<S>& logits, std::size_t target, double temperature) {
  S total = 0;
  for (const S& l : logits) { total += std::exp(l / temperature); }
  const S lse = std::log(total);
  S entropy = 0;
  for (const S& l : logits) { entropy -= std::exp(l / temperature - lse) * (l / temperature - lse); }
  return {logits[target] / temperature - lse, entropy};
}

struct AdamState {
  double w, m, v;
};
/// One weight, one step t >= 1.                                                 (adam.1-2)
inline AdamState adamw(AdamState s, double g, double lr, double b1, double b2, double eps, double decay, int t) {
  s.m = b1 * s.m + (1 - b1) * g;
  s.v = b2 * s.v + (1 - b2) * g * g;
  s.w -= lr * (s.m / (1 - std::pow(b1, t)) / (std::sqrt(s.v / (1 - std::pow(b2, t))) + eps) + decay * s.w);
  return s;
}

}  // namespace minirl::kernels::reference
