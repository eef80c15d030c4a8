#include "rl/algorithm.h"

#include <array>
#include <cmath>
#include <utility>

#include "core/fmath.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

struct ReasonText {
  std::uint32_t bit;
  std::string_view name;
  std::string_view words;
};

constexpr std::array kReasons{
    ReasonText{MaskReason::loss_mask, "loss_mask", "left out by the loss mask"},
    ReasonText{MaskReason::zero_advantage, "zero_advantage",
               "the advantage is 0, so the gradient is 0"},
    ReasonText{MaskReason::clipped_high, "clipped_high",
               "clipped: A > 0 and the ratio is above 1 + clip_high"},
    ReasonText{MaskReason::clipped_low, "clipped_low",
               "clipped: A < 0 and the ratio is below 1 - clip_low"},
    ReasonText{MaskReason::dual_clip, "dual_clip",
               "dual clip: A < 0 and the ratio is above dual_clip"},
    ReasonText{MaskReason::divergence_positive, "divergence_positive",
               "masked: A > 0, the probability is above its anchor (moving away) and D > delta"},
    ReasonText{MaskReason::divergence_negative, "divergence_negative",
               "masked: A < 0, the probability is below its anchor (moving away) and D > delta"},
    ReasonText{MaskReason::bad_update, "bad_update",
               "bad update: A < 0 and the probability already fell by delta or more"},
    ReasonText{MaskReason::divergence_any_sign, "divergence_any_sign",
               "masked: D > delta, whatever the direction"},
    ReasonText{MaskReason::budget_token, "budget_token",
               "masked: moving away and this token alone is beyond its threshold"},
    ReasonText{MaskReason::budget_prefix, "budget_prefix",
               "masked: moving away and the budget of the prefix is spent"},
    ReasonText{MaskReason::sequence_clipped, "sequence_clipped",
               "clipped: the ratio of the whole sequence is out of bounds"},
    ReasonText{MaskReason::correction_masked, "correction_masked",
               "dropped by the train-rollout correction"},
    ReasonText{MaskReason::saturated, "saturated",
               "|log ratio| is above 20: the clamp has derivative 0"},
    ReasonText{MaskReason::outside_upper, "outside_upper",
               "beyond the upper side of the trust region"},
    ReasonText{MaskReason::outside_lower, "outside_lower",
               "beyond the lower side of the trust region"},
    ReasonText{MaskReason::capped, "capped", "the weight was lowered to the cap"},
    ReasonText{MaskReason::floored, "floored", "the weight was raised to the floor"},
    ReasonText{MaskReason::relaxed, "relaxed",
               "kept because mu < alpha: the clip would have dropped it"},
    ReasonText{MaskReason::corrective, "corrective",
               "the weight is negative: the token is pulled back"},
};

const ReasonText& find_reason(std::uint32_t bit) {
  for (const auto& reason : kReasons) {
    if (reason.bit == bit) {
      return reason;
    }
  }
  MINIRL_CHECK(false, "no reason has the bit {:#x}", bit);
  return kReasons[0];
}

double clamp_log_ratio(double x) {  // NaN stays NaN
  return x > kLogRatioLimit ? kLogRatioLimit : (x < -kLogRatioLimit ? -kLogRatioLimit : x);
}

TokenInput::AgainstAnchor against(double log_pi, double log_p) {
  TokenInput::AgainstAnchor out;
  out.log_p = log_p;
  out.p = probability(log_p);
  out.log_ratio = log_pi - log_p;
  out.ratio = fmath::exp(clamp_log_ratio(out.log_ratio));
  return out;
}

TokenInput::AgainstAnchor against_probability(double pi, double p) {
  TokenInput::AgainstAnchor out;
  out.log_p = fmath::log(p);
  out.p = p;
  out.log_ratio = fmath::log(pi) - out.log_p;
  const double limited = clamp_log_ratio(out.log_ratio);
  out.ratio = limited == out.log_ratio ? pi / p : fmath::exp(limited);
  return out;
}

void check_span(std::string_view what, std::size_t size, std::size_t expected) {
  MINIRL_CHECK(size == expected, "{} has {} entries, the sequence has {} tokens", what, size,
               expected);
}

}  // namespace

std::string_view anchor_name(Anchor anchor) {
  return anchor == Anchor::rollout ? "rollout" : "recomputed";
}

Anchor anchor_from_name(std::string_view name) {
  if (name == "rollout") {
    return Anchor::rollout;
  }
  if (name == "recomputed") {
    return Anchor::recomputed;
  }
  fail(Exit::usage, fmt::format("unknown anchor '{}'", name), "known: rollout, recomputed");
}

std::string_view reason_name(std::uint32_t bit) {
  return find_reason(bit).name;
}
std::string_view reason_words(std::uint32_t bit) {
  return find_reason(bit).words;
}

std::vector<std::string> explain_reasons(std::uint32_t reasons) {
  std::vector<std::string> out;
  for (const auto& reason : kReasons) {
    if ((reasons & reason.bit) != 0) {
      out.emplace_back(reason.words);
    }
  }
  return out;
}

const TokenInput::AgainstAnchor& TokenInput::at(Anchor anchor) const {
  if (anchor == Anchor::rollout) {
    return rollout;
  }
  MINIRL_CHECK(has_recomputed,
               "the loss needs log pi_old (anchor = recomputed) and did not get it");
  return recomputed;
}

TokenInput TokenInput::from_logs(double log_pi, double log_mu, double advantage,
                                 std::optional<double> log_old) {
  TokenInput token;
  token.advantage = advantage;
  token.log_pi = log_pi;
  token.pi = probability(log_pi);
  token.rollout = against(log_pi, log_mu);
  if (log_old) {
    token.has_recomputed = true;
    token.recomputed = against(log_pi, *log_old);
  }
  return token;
}

TokenInput TokenInput::from_probabilities(double pi, double mu, double advantage,
                                          std::optional<double> old) {
  TokenInput token;
  token.advantage = advantage;
  token.log_pi = fmath::log(pi);
  token.pi = pi;
  token.rollout = against_probability(pi, mu);
  if (old) {
    token.has_recomputed = true;
    token.recomputed = against_probability(pi, *old);
  }
  return token;
}

std::vector<TokenInput> make_tokens(const SequenceView& s, const Traits& traits) {
  const std::size_t count = s.logp.size();
  check_span("logp_rollout", s.logp_rollout.size(), count);
  const bool recomputed = !s.logp_recomputed.empty() || traits.needs_recomputed;
  if (recomputed) {
    check_span("logp_recomputed", s.logp_recomputed.size(), count);
  }
  const bool reference = !s.logp_reference.empty() || traits.needs_reference;
  if (reference) {
    check_span("logp_reference", s.logp_reference.size(), count);
  }
  if (!s.loss_mask.empty()) {
    check_span("loss_mask", s.loss_mask.size(), count);
  }
  if (!s.token_advantages.empty()) {
    check_span("token_advantages", s.token_advantages.size(), count);
  }
  const auto k = static_cast<std::size_t>(s.topk);
  if (traits.needs_topk) {
    MINIRL_CHECK(s.topk > 0, "the loss needs the top-K log-probabilities and did not get them");
    check_span("topk_logp / K", s.topk_logp.size(), count * k);
    check_span("topk_logp_rollout / K", s.topk_logp_rollout.size(), count * k);
    check_span("topk_has_sampled", s.topk_has_sampled.size(), count);
    if (recomputed) {
      check_span("topk_logp_recomputed / K", s.topk_logp_recomputed.size(), count * k);
    }
  }
  std::vector<TokenInput> tokens;
  tokens.reserve(count);
  for (std::size_t t = 0; t < count; ++t) {
    TokenInput token = TokenInput::from_logs(
        static_cast<double>(s.logp[t]), static_cast<double>(s.logp_rollout[t]),
        s.token_advantages.empty() ? s.advantage : s.token_advantages[t]);
    if (recomputed) {
      token.has_recomputed = true;
      token.recomputed = against(token.log_pi, static_cast<double>(s.logp_recomputed[t]));
    }
    if (reference) {
      token.has_reference = true;
      token.log_reference = static_cast<double>(s.logp_reference[t]);
    }
    token.active = s.loss_mask.empty() || s.loss_mask[t] != 0;
    if (traits.needs_topk) {
      const auto live = s.topk_logp.subspan(t * k, k);
      const bool has_sampled = s.topk_has_sampled[t] != 0;
      const auto fill = [&](TokenInput::AgainstAnchor& a, std::span<const float> anchor_logp) {
        const TopkDivergence d = topk_divergence(anchor_logp, live, has_sampled, a.p, token.pi);
        a.topk_tv = d.tv;
        a.topk_kl = d.kl;
      };
      fill(token.rollout, s.topk_logp_rollout.subspan(t * k, k));
      if (recomputed) {
        fill(token.recomputed, s.topk_logp_recomputed.subspan(t * k, k));
      }
    }
    tokens.push_back(token);
  }
  return tokens;
}

void Algorithm::evaluate(const SequenceView& sequence, std::span<TokenResult> results) const {
  evaluate_tokens(make_tokens(sequence, traits_), results);
}

void Algorithm::evaluate_tokens(std::span<const TokenInput> tokens,
                                std::span<TokenResult> results) const {
  MINIRL_CHECK(tokens.size() == results.size(), "{} tokens, room for {} results", tokens.size(),
               results.size());
  compute(tokens, results);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    TokenResult& result = results[t];
    if (!tokens[t].active) {
      result.loss = result.dlogp = result.weight = result.penalty = 0;
      result.reasons = MaskReason::loss_mask;
    } else if (tokens[t].advantage == 0) {
      result.reasons |= MaskReason::zero_advantage;
    }
  }
}

std::optional<Boundary> Algorithm::boundary(double) const {
  return std::nullopt;
}

void set_algorithm_name(Algorithm& algorithm, std::string name) {
  algorithm.name_ = std::move(name);
}

void TokenAlgorithm::compute(std::span<const TokenInput> tokens,
                             std::span<TokenResult> results) const {
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    results[t] = token(tokens[t]);
  }
}

}  // namespace minirl::rl
