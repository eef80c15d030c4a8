#include "rl/policy_metrics.h"

#include <cmath>
#include <cstddef>

#include "core/fmath.h"
#include "rl/kl_penalty.h"

namespace minirl::rl {
namespace {

constexpr double kBadUpdateThreshold = 0.5;  // the DPPO paper's E1

/// pi over the anchor without the clamp.
double raw_ratio(const TokenInput::AgainstAnchor& a) {
  return std::fabs(a.log_ratio) > kLogRatioLimit ? fmath::exp(a.log_ratio) : a.ratio;
}

double per(double count, double total) {
  return total > 0 ? count / total : 0;
}

}  // namespace

void Accumulator::merge(const Accumulator& other) {
  sum_ += other.sum_;
  sum2_ += other.sum2_;
  count_ += other.count_;
  max_ = other.max_ > max_ || !(other.max_ == other.max_) ? other.max_ : max_;
  min_ = other.min_ < min_ || !(other.min_ == other.min_) ? other.min_ : min_;
}

double Accumulator::std() const {
  if (count_ < 2) {
    return 0;
  }
  const double variance = (sum2_ - sum_ * sum_ / count_) / (count_ - 1);
  return variance > 0 ? std::sqrt(variance) : (variance <= 0 ? 0 : variance);
}

void PolicyMetrics::add(const SequenceView& sequence, std::span<const TokenResult> results,
                        std::span<const float> entropies) {
  add(make_tokens(sequence, Traits{}), results, entropies);
}

void PolicyMetrics::add(std::span<const TokenInput> tokens, std::span<const TokenResult> results,
                        std::span<const float> entropies) {
  MINIRL_CHECK(tokens.size() == results.size(), "{} tokens, {} results", tokens.size(),
               results.size());
  MINIRL_CHECK(entropies.empty() || entropies.size() == tokens.size(), "{} tokens, {} entropies",
               tokens.size(), entropies.size());
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const TokenInput& token = tokens[t];
    const TokenResult& result = results[t];
    if (!token.active) {
      left_out_ += 1;
      continue;
    }
    tokens_ += 1;
    const TokenInput::AgainstAnchor& a = token.rollout;
    const double r = raw_ratio(a);
    const double shift = token.pi - a.p;
    ratio_.add(r);
    log_ratio_.add(a.log_ratio);
    half_square_.add(0.5 * a.log_ratio * a.log_ratio);
    k3_.add(r - 1 - a.log_ratio);
    log_diff_.add(std::fabs(a.log_ratio));
    shift_.add(shift);
    abs_shift_.add(std::fabs(shift));
    weight_.add(result.weight);
    loss_.add(result.loss);
    penalty_.add(result.penalty);
    if (!entropies.empty()) {
      entropy_.add(static_cast<double>(entropies[t]));
    }
    positive_ += token.advantage > 0 ? 1 : 0;
    negative_ += token.advantage < 0 ? 1 : 0;
    if (result.masked()) {
      masked_positive_ += token.advantage > 0 ? 1 : 0;
      masked_negative_ += token.advantage < 0 ? 1 : 0;
    }
    bad_update_ += token.advantage < 0 && -shift >= kBadUpdateThreshold ? 1 : 0;
    nonzero_ += result.dlogp != 0 ? 1 : 0;
    for (std::size_t bit = 0; bit < reasons_.size(); ++bit) {
      reasons_[bit] += (result.reasons >> bit & 1U) != 0 ? 1 : 0;
    }
    if (token.has_reference) {
      reference_k1_.add(kl_term({KlEstimator::k1}, token.log_pi, token.log_reference).value);
      reference_k3_.add(kl_term({KlEstimator::k3}, token.log_pi, token.log_reference).value);
    }
    if (token.has_recomputed) {
      const double log_rho =
          token.recomputed.log_p - a.log_p;  // pi_old / mu: no live weights in it
      const double rho = fmath::exp(log_rho);
      mismatch_.add(log_rho);
      mismatch_ratio_.add(rho);
      mismatch_k3_.add(rho - 1 - log_rho);
      mismatch_shift_.add(std::fabs(token.recomputed.p - a.p));
    }
  }
}

void PolicyMetrics::merge(const PolicyMetrics& other) {
  for (const auto member :
       {&PolicyMetrics::ratio_, &PolicyMetrics::log_ratio_, &PolicyMetrics::half_square_,
        &PolicyMetrics::k3_, &PolicyMetrics::log_diff_, &PolicyMetrics::shift_,
        &PolicyMetrics::abs_shift_, &PolicyMetrics::entropy_, &PolicyMetrics::weight_,
        &PolicyMetrics::penalty_, &PolicyMetrics::loss_, &PolicyMetrics::reference_k1_,
        &PolicyMetrics::reference_k3_, &PolicyMetrics::mismatch_, &PolicyMetrics::mismatch_k3_,
        &PolicyMetrics::mismatch_ratio_, &PolicyMetrics::mismatch_shift_}) {
    (this->*member).merge(other.*member);
  }
  for (const auto member :
       {&PolicyMetrics::tokens_, &PolicyMetrics::positive_, &PolicyMetrics::negative_,
        &PolicyMetrics::left_out_, &PolicyMetrics::masked_positive_,
        &PolicyMetrics::masked_negative_, &PolicyMetrics::bad_update_, &PolicyMetrics::nonzero_}) {
    this->*member += other.*member;
  }
  for (std::size_t bit = 0; bit < reasons_.size(); ++bit) {
    reasons_[bit] += other.reasons_[bit];
  }
}

std::vector<Metric> PolicyMetrics::finish() const {
  const auto reason = [&](std::uint32_t bit) {
    std::size_t i = 0;
    while ((1U << i) != bit) {
      ++i;
    }
    return per(reasons_[i], tokens_);
  };
  std::vector<Metric> out{
      {"response_tokens", tokens_, "tokens",
       "response tokens that the loss mask keeps; the denominator below unless another is named"},
      {"ratio_mean", ratio_.mean(), "ratio", "mean of pi/mu before any cap"},
      {"ratio_max", ratio_.max(), "ratio", "largest pi/mu before any cap"},
      {"ratio_min", ratio_.min(), "ratio", "smallest pi/mu"},
      {"approx_kl", k3_.mean(), "nats", "mean of r - 1 - log r, r = pi/mu (k3 of KL(mu, pi))"},
      {"kl_k1", -log_ratio_.mean(), "nats", "mean of log mu - log pi (k1 of KL(mu, pi))"},
      {"kl_k2", half_square_.mean(), "nats", "mean of (log pi - log mu)^2 / 2"},
      {"rollout_replay_logp_absdiff_mean", log_diff_.mean(), "nats", "mean |log pi - log mu|"},
      {"rollout_replay_logp_absdiff_max", log_diff_.max(), "nats", "largest |log pi - log mu|"},
      {"prob_absdiff_mean", abs_shift_.mean(), "probability", "mean |pi - mu|"},
      {"prob_absdiff_std", abs_shift_.std(), "probability",
       "standard deviation (n - 1) of |pi - mu|"},
      {"prob_diff_max", shift_.max(), "probability", "largest pi - mu"},
      {"prob_diff_min", shift_.min(), "probability", "smallest pi - mu"},
      {"clipfrac_upper", reason(MaskReason::outside_upper), "fraction",
       "tokens beyond the upper side of the loss' trust region, whatever the sign of A"},
      {"clipfrac_lower", reason(MaskReason::outside_lower), "fraction",
       "tokens beyond the lower side of the loss' trust region, whatever the sign of A"},
      {"masked_fraction", per(masked_positive_ + masked_negative_, tokens_), "fraction",
       "tokens with A != 0 whose gradient the loss set to 0"},
      {"masked_positive_fraction", per(masked_positive_, positive_), "fraction",
       "of the tokens with A > 0: gradient set to 0 by the loss"},
      {"masked_negative_fraction", per(masked_negative_, negative_), "fraction",
       "of the tokens with A < 0: gradient set to 0 by the loss"},
      {"bad_update_fraction", per(bad_update_, tokens_), "fraction",
       "tokens with A < 0 and mu - pi >= 0.5"},
      {"zero_advantage_fraction", reason(MaskReason::zero_advantage), "fraction",
       "tokens with A = 0"},
      {"nonzero_gradient_fraction", per(nonzero_, tokens_), "fraction",
       "tokens whose d loss / d log pi is not 0"},
      {"left_out_fraction", per(left_out_, left_out_ + tokens_), "fraction",
       "of all response tokens: left out by the loss mask"},
      {"weight_mean", weight_.mean(), "1", "mean of w in g = -A r w"},
      {"weight_min", weight_.min(), "1", "smallest w"},
      {"weight_max", weight_.max(), "1", "largest w"},
      {"token_loss_mean", loss_.mean(), "1", "mean of the loss per token, before aggregation"},
  };
  if (!traits_.penalty_key.empty()) {
    out.push_back({std::string(traits_.penalty_key), penalty_.mean(), "1",
                   "mean of the regulariser inside the loss (its own page states the term)"});
  }
  if (entropy_.count() > 0) {
    out.push_back(
        {"entropy", entropy_.mean(), "nats", "mean exact entropy of softmax(logits / T)"});
  }
  if (reference_k1_.count() > 0) {
    out.push_back({"reference_kl_k1", reference_k1_.mean(), "nats", "mean of log pi - log pi_ref"});
    out.push_back({"reference_kl_k3", reference_k3_.mean(), "nats",
                   "mean of e^-x + x - 1, x = log pi - log pi_ref"});
  }
  if (mismatch_.count() > 0) {
    const double mean = mismatch_ratio_.mean();
    const double square = mismatch_ratio_.mean_square();
    out.push_back({"mismatch_ratio_mean", mean, "ratio", "mean of rho = pi_old/mu"});
    out.push_back({"mismatch_ratio_max", mismatch_ratio_.max(), "ratio", "largest rho"});
    out.push_back({"mismatch_kl_k1", -mismatch_.mean(), "nats", "mean of log mu - log pi_old"});
    out.push_back({"mismatch_kl_k3", mismatch_k3_.mean(), "nats", "mean of rho - 1 - log rho"});
    out.push_back({"mismatch_prob_absdiff_mean", mismatch_shift_.mean(), "probability",
                   "mean |pi_old - mu|"});
    out.push_back({"mismatch_prob_absdiff_max", mismatch_shift_.max(), "probability",
                   "largest |pi_old - mu|"});
    out.push_back({"mismatch_chi2", square - 1, "1", "mean of rho^2, minus 1"});
    out.push_back({"mismatch_ess_fraction", mean * mean / square, "fraction",
                   "effective sample size of rho / tokens: (mean rho)^2 / mean rho^2"});
  }
  constexpr std::uint32_t kAlways =
      MaskReason::outside_upper | MaskReason::outside_lower | kInactiveBits;
  for (std::size_t bit = 0; bit < reasons_.size(); ++bit) {
    if (reasons_[bit] > 0 && (kAlways >> bit & 1U) == 0) {
      const std::uint32_t mask = 1U << bit;
      out.push_back({fmt::format("{}_fraction", reason_name(mask)), per(reasons_[bit], tokens_),
                     "fraction", fmt::format("tokens: {} (absent = none)", reason_words(mask))});
    }
  }
  return out;
}

}  // namespace minirl::rl
