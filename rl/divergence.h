// minirl rl/divergence.h -- distances between two policies at one position, seen through the
// sampled token alone (Binary) or through the K most likely tokens (Top-K).
// docs/math/policy_loss.md.
#pragma once
#include <span>

namespace minirl::rl {

/// log(1 - p) is not let below log(1e-8): a probability that rounds to 1 must not make infinities.
inline constexpr double kComplementFloor = 1e-8;
/// The rest class of Top-K is not let below this mass.
inline constexpr double kRestMassFloor = 1e-12;

/// e^log_p, at most 1 (a log-probability may lie above 0 by rounding). NaN stays NaN.
double probability(double log_p);
/// log(1 - e^log_p), floored (dppo.4).
double log_complement(double log_p);

/// |mu - pi| (dppo.3).
double binary_tv(double mu, double pi);
/// mu log(mu/pi) + (1 - mu) log((1 - mu)/(1 - pi)) in nats, direction mu -> pi (dppo.4).
double binary_kl(double mu, double log_mu, double log_pi);

struct TopkDivergence {
  double tv = 0;  // (dppo.5)
  double kl = 0;  // (dppo.6), nats
};
/// Over the K ids (ascending order of storage), the sampled token where it is not among them, and
/// one rest class: K + 1 or K + 2 classes. (K) log-probabilities of the same ids under mu and pi;
/// probabilities of the sampled token.
TopkDivergence topk_divergence(std::span<const float> log_mu, std::span<const float> log_pi,
                               bool has_sampled, double sampled_mu, double sampled_pi);
/// The same from probabilities.
TopkDivergence topk_divergence(std::span<const double> mu, std::span<const double> pi,
                               bool has_sampled, double sampled_mu, double sampled_pi);

}  // namespace minirl::rl
