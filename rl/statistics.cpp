#include "rl/statistics.h"

#include <cmath>
#include <cstddef>
#include <limits>

#include "core/fmath.h"

namespace minirl::rl {
namespace {

constexpr double kPi = 3.14159265358979323846;

double mean_of(std::span<const double> x) {
  double s = 0;
  for (const double v : x) {
    s += v;
  }
  return s / static_cast<double>(x.size());
}

/// Standard error of the mean of x (n - 1); 0 for one entry.
double error_of_mean(std::span<const double> x, double mean) {
  const auto n = static_cast<double>(x.size());
  if (x.size() < 2) {
    return 0;
  }
  double ss = 0;
  for (const double v : x) {
    ss += (v - mean) * (v - mean);
  }
  return std::sqrt(ss / (n - 1) / n);
}

/// Continued fraction of the incomplete beta function (Lentz), for x below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double h = d;
  for (int i = 1; i <= 1000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < 1e-15) {
      break;
    }
  }
  return h;
}

/// B(freedom/2, 1/2) by B(a + 1, 1/2) = B(a, 1/2) a / (a + 1/2).
double beta_half(Index freedom) {
  double a = freedom % 2 == 0 ? 1 : 0.5;
  double value = freedom % 2 == 0 ? 2 : kPi;
  for (; a < 0.5 * static_cast<double>(freedom); a += 1) {
    value *= a / (a + 0.5);
  }
  return value;
}

/// P(|T| > t) = I_x(freedom/2, 1/2), x = freedom / (freedom + t^2).
double two_sided_tail(Index freedom, double beta, double t) {
  const double a = 0.5 * static_cast<double>(freedom);
  const double b = 0.5;
  const double x = static_cast<double>(freedom) / (static_cast<double>(freedom) + t * t);
  if (t == 0) {
    return 1;
  }
  const double front = fmath::exp(a * fmath::log(x) + b * fmath::log1p(-x)) / beta;
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

void check_confidence(double confidence) {
  MINIRL_CHECK(confidence > 0 && confidence < 1, "confidence {}", confidence);
}

/// (stat.5): Wilson's interval for a mean of numbers in [0, 1], at the number of independent yes/no
/// answers that would have this standard error.
void wilson(Interval& out, double problems, double samples) {
  const double p = out.value;
  const double variance = p * (1 - p);
  const double se2 = out.standard_error * out.standard_error;
  double n = se2 > 0 ? variance / se2 : problems;
  n = n > samples ? samples : n;
  const double t = student_t(static_cast<Index>(problems) - 1, out.confidence);
  const double z2 = t * t / n;
  const double centre = (p + z2 / 2) / (1 + z2);
  const double half = t * std::sqrt(variance / n + z2 / (4 * n)) / (1 + z2);
  out.lower = p <= 0 ? 0 : (centre - half < 0 ? 0 : centre - half);
  out.upper = p >= 1 ? 1 : (centre + half > 1 ? 1 : centre + half);
  out.method = fmt::format(
      "Wilson interval at {:.4g} effective samples ({} problems are the unit of chance)", n,
      problems);
}

Interval over_problems(std::span<const double> values, double samples, bool unit_range,
                       double confidence) {
  Interval out;
  out.confidence = confidence;
  out.value = mean_of(values);
  out.standard_error = error_of_mean(values, out.value);
  const auto problems = static_cast<double>(values.size());
  if (values.size() < 2) {
    out.lower = unit_range ? 0 : -std::numeric_limits<double>::infinity();
    out.upper = unit_range ? 1 : std::numeric_limits<double>::infinity();
    out.method = "one problem says nothing about others: no interval";
    return out;
  }
  if (unit_range) {
    wilson(out, problems, samples);
    return out;
  }
  const double half =
      student_t(static_cast<Index>(values.size()) - 1, confidence) * out.standard_error;
  out.lower = out.value - half;
  out.upper = out.value + half;
  out.method = fmt::format("Student's t over {} problems", problems);
  return out;
}

}  // namespace

double student_t(Index freedom, double confidence) {
  MINIRL_CHECK(freedom >= 1, "{} degrees of freedom", freedom);
  check_confidence(confidence);
  const double beta = beta_half(freedom);
  double low = 0;
  double high = 1;
  while (two_sided_tail(freedom, beta, high) > 1 - confidence && high < 1e12) {
    high *= 2;
  }
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (two_sided_tail(freedom, beta, middle) > 1 - confidence ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

Interval average_at_k(std::span<const std::vector<double>> scores, double confidence) {
  check_confidence(confidence);
  MINIRL_CHECK(!scores.empty(), "no problems");
  std::vector<double> means;
  double samples = 0;
  double noise = 0;  // sum over problems of the variance of their mean
  bool unit_range = true;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    MINIRL_CHECK(!scores[i].empty(), "problem {} has no samples", i);
    for (const double s : scores[i]) {
      if (!std::isfinite(s)) {
        fail(Exit::data, fmt::format("problem {} has the score {}", i, s),
             "a score must be finite");
      }
      unit_range = unit_range && s >= 0 && s <= 1;
    }
    means.push_back(mean_of(scores[i]));
    samples += static_cast<double>(scores[i].size());
    const double e = error_of_mean(scores[i], means.back());
    noise += e * e;
  }
  Interval out = over_problems(means, samples, unit_range, confidence);
  out.sampling_error = std::sqrt(noise) / static_cast<double>(scores.size());
  return out;
}

double pass_at_k(Index samples, Index correct, Index k) {
  MINIRL_CHECK(k >= 1 && k <= samples && correct >= 0 && correct <= samples,
               "pass@{} of {} samples, {} correct", k, samples, correct);
  double none = 1;  // C(n - c, k) / C(n, k) = prod_{i = 0}^{k-1} (n - c - i) / (n - i)
  for (Index i = 0; i < k; ++i) {
    if (samples - correct - i <= 0) {
      return 1;
    }
    none *= static_cast<double>(samples - correct - i) / static_cast<double>(samples - i);
  }
  return 1 - none;
}

Interval pass_at_k(std::span<const Trials> problems, Index k, double confidence) {
  check_confidence(confidence);
  MINIRL_CHECK(!problems.empty(), "no problems");
  std::vector<double> values;
  double samples = 0;
  double noise = 0;
  for (const Trials& p : problems) {
    values.push_back(pass_at_k(p.samples, p.correct, k));
    samples += static_cast<double>(p.samples);
    // Delta method at the observed rate q: d/dq (1 - (1 - q)^k) = k (1 - q)^(k - 1).
    const double n = static_cast<double>(p.samples);
    const double q = static_cast<double>(p.correct) / n;
    double slope = static_cast<double>(k);
    for (Index i = 1; i < k; ++i) {
      slope *= 1 - q;
    }
    noise += p.samples > 1 ? slope * slope * q * (1 - q) / (n - 1) : 0;
  }
  Interval out = over_problems(values, samples, true, confidence);
  out.sampling_error = std::sqrt(noise) / static_cast<double>(problems.size());
  return out;
}

Interval paired_difference(std::span<const double> before, std::span<const double> after,
                           double confidence) {
  check_confidence(confidence);
  MINIRL_CHECK(before.size() == after.size() && !before.empty(), "{} scores before, {} after",
               before.size(), after.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < before.size(); ++i) {
    differences.push_back(after[i] - before[i]);
  }
  return over_problems(differences, static_cast<double>(before.size()), false, confidence);
}

}  // namespace minirl::rl
