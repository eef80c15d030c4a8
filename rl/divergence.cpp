#include "rl/divergence.h"

#include <cstddef>
#include <vector>

#include "core/error.h"
#include "core/fmath.h"

namespace minirl::rl {

double probability(double log_p) {
  return log_p > 0 ? 1.0 : fmath::exp(log_p);
}

double log_complement(double log_p) {
  static const double floor = fmath::log(kComplementFloor);
  if (log_p >= 0) {
    return floor;
  }
  const double x = fmath::log(-fmath::expm1(log_p));
  return x < floor ? floor : x;  // NaN stays NaN
}

double binary_tv(double mu, double pi) {
  return mu < pi ? pi - mu : mu - pi;
}

double binary_kl(double mu, double log_mu, double log_pi) {
  if (log_mu == log_pi) {
    return 0;
  }
  return mu * (log_mu - log_pi) + (1 - mu) * (log_complement(log_mu) - log_complement(log_pi));
}

TopkDivergence topk_divergence(std::span<const double> mu, std::span<const double> pi,
                               bool has_sampled, double sampled_mu, double sampled_pi) {
  MINIRL_CHECK(mu.size() == pi.size(), "{} and {} classes", mu.size(), pi.size());
  TopkDivergence out;
  double mass_mu = 0;
  double mass_pi = 0;
  double tv = 0;
  const auto add = [&](double m, double p) {
    tv += binary_tv(m, p);
    if (m > 0) {
      out.kl += m * (fmath::log(m) - fmath::log(p));
    }
  };
  for (std::size_t k = 0; k < mu.size(); ++k) {
    add(mu[k], pi[k]);
    mass_mu += mu[k];
    mass_pi += pi[k];
  }
  if (!has_sampled) {
    add(sampled_mu, sampled_pi);
    mass_mu += sampled_mu;
    mass_pi += sampled_pi;
  }
  const auto rest = [](double mass) {
    return 1 - mass < kRestMassFloor ? kRestMassFloor : 1 - mass;
  };
  add(rest(mass_mu), rest(mass_pi));
  out.tv = 0.5 * tv;
  return out;
}

TopkDivergence topk_divergence(std::span<const float> log_mu, std::span<const float> log_pi,
                               bool has_sampled, double sampled_mu, double sampled_pi) {
  std::vector<double> mu(log_mu.size());
  std::vector<double> pi(log_pi.size());
  for (std::size_t k = 0; k < mu.size(); ++k) {
    mu[k] = probability(static_cast<double>(log_mu[k]));
  }
  for (std::size_t k = 0; k < pi.size(); ++k) {
    pi[k] = probability(static_cast<double>(log_pi[k]));
  }
  return topk_divergence(mu, pi, has_sampled, sampled_mu, sampled_pi);
}

}  // namespace minirl::rl
