// minirl rl/algorithm.h -- a loss is declared traits plus one pure function from the scalars of a
// token to (loss, d loss / d log pi, reasons). Host code in double: the device hands over one
// log-probability per token and takes back one derivative per token. The trainer reads the traits
// and never the name. Formulas: docs/math/policy_loss.md.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace minirl::rl {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Which frozen policy a ratio or a mask is measured from: the one that sampled (mu), or the
/// pre-update weights run once more through the training forward (pi_old).
enum class Anchor { rollout, recomputed };
std::string_view anchor_name(Anchor anchor);
Anchor anchor_from_name(std::string_view name);  // "rollout" | "recomputed"

/// What a loss asks of the trainer. A combination that the trainer cannot serve is refused at
/// start.
struct Traits {
  bool requires_advantages = true;
  bool needs_recomputed = false;  // log pi_old: one pass without gradient before the first update
  bool needs_reference = false;   // log pi_ref
  bool needs_topk = false;  // the `topk` most likely tokens of mu, with both log-probabilities
  Index topk = 0;           // K, where needs_topk
  bool requires_ema_rollout = false;  // rollouts sampled from averaged weights
  bool supports_multi_update = true;  // several optimizer steps per rollout: the anchors are frozen
  bool sequence_level = false;        // tokens of a sequence depend on each other
  // The loss is a mean over sequences of means over tokens and means nothing under another mode.
  bool needs_seq_mean_token_mean = false;
  // `loss` is differentiable in log pi and its derivative is `dlogp`; otherwise the weight is
  // detached and -A min(r, C) M is reported (pg.3).
  bool ratio_form = false;
  std::string_view penalty_key = {};  // metric of `penalty` of the results; empty: there is none
  // Corrections by pi_old/mu would double-count when this is `rollout`.
  Anchor weight_anchor = Anchor::rollout;
};

/// One response, sampled tokens only, T entries each (natural log; nats).
struct SequenceView {
  std::span<const float> logp;              // log pi of the live weights
  std::span<const float> logp_rollout;      // log mu, recorded while sampling, frozen
  std::span<const float> logp_recomputed;   // log pi_old; empty unless needed
  std::span<const float> logp_reference;    // log pi_ref; empty unless needed
  std::span<const std::uint8_t> loss_mask;  // 0 = the token is left out; empty = every token counts
  double advantage = 0;                     // of every token, unless:
  std::span<const double> token_advantages;  // one a token; empty = `advantage`
  // The K most likely tokens of mu at each position, (T, K) row-major: log-probabilities of these
  // same ids under each policy, and whether the sampled token is one of them. K = 0 unless needed.
  Index topk = 0;
  std::span<const float> topk_logp, topk_logp_rollout, topk_logp_recomputed;
  std::span<const std::uint8_t> topk_has_sampled;
};

/// Bits of TokenResult::reasons: why a token got the weight it has.
struct MaskReason {
  enum Bit : std::uint32_t {
    loss_mask = 1U << 0,
    zero_advantage = 1U << 1,
    // gradient set to zero by the loss (kMaskedBits)
    clipped_high = 1U << 2,
    clipped_low = 1U << 3,
    dual_clip = 1U << 4,
    divergence_positive = 1U << 5,
    divergence_negative = 1U << 6,
    bad_update = 1U << 7,
    divergence_any_sign = 1U << 8,
    budget_token = 1U << 9,
    budget_prefix = 1U << 10,
    sequence_clipped = 1U << 11,
    correction_masked = 1U << 12,
    saturated = 1U << 13,
    // told, but the gradient is not zero
    outside_upper = 1U << 20,
    outside_lower = 1U << 21,
    capped = 1U << 22,
    floored = 1U << 23,
    relaxed = 1U << 24,
    corrective = 1U << 25,
  };
};
inline constexpr std::uint32_t kMaskedBits = 0x000FFFFCU;  // the second group above
inline constexpr std::uint32_t kInactiveBits = MaskReason::loss_mask | MaskReason::zero_advantage;

/// Short key of one bit ("clipped_high") and a sentence for it.
std::string_view reason_name(std::uint32_t bit);
std::string_view reason_words(std::uint32_t bit);
/// All sentences of a set, lowest bit first.
std::vector<std::string> explain_reasons(std::uint32_t reasons);

struct TokenResult {
  double loss = 0;    // not aggregated
  double dlogp = 0;   // g = d loss / d log pi
  double weight = 0;  // w in g = -A r w: 1 = plain policy gradient, 0 = masked, < 0 = corrective
  double ratio = 1;   // r = pi / (anchor of the weight)
  double divergence =
      0;  // |pi - p| to the anchor of the mask, or what the loss tests instead (Top-K, KL)
  double penalty = 0;  // the regulariser's share of `loss` (Traits::penalty_key)
  std::uint32_t reasons = 0;
  bool masked() const { return (reasons & kMaskedBits) != 0; }
};

/// The loss' log-ratios are clamped to this band before exp (pg.4). Outside of it a loss in ratio
/// form has derivative exactly 0; a detached weight keeps the clamped value.
inline constexpr double kLogRatioLimit = 20.0;

/// Everything a loss may know about one token, in double. Probabilities are at most 1 even where a
/// log-probability is above 0 by rounding; ratios are exp of the clamped raw difference, so equal
/// log-probabilities give a ratio of exactly 1.
struct TokenInput {
  struct AgainstAnchor {
    double log_p = 0;  // of the anchor
    double p = 1;
    double log_ratio = 0;  // log pi - log p, not clamped
    double ratio = 1;      // exp(clamp(log_ratio))
    double topk_tv = 0,
           topk_kl = 0;  // over the K + 2 classes (dppo.5) (dppo.6), Traits::needs_topk
  };
  double advantage = 0;
  double log_pi = 0, pi = 1;
  AgainstAnchor rollout, recomputed;
  bool has_recomputed = false;
  bool has_reference = false;
  double log_reference = 0;  // log pi_ref
  bool active = true;        // false: left out by the loss mask

  const AgainstAnchor& at(Anchor anchor) const;  // fails (our fault) when pi_old is not there

  static TokenInput from_logs(double log_pi, double log_mu, double advantage,
                              std::optional<double> log_old = std::nullopt);
  /// Ratios are quotients of the given numbers (no logarithm between): `minirl explain`, exact
  /// tests.
  static TokenInput from_probabilities(double pi, double mu, double advantage,
                                       std::optional<double> old = std::nullopt);
};

/// The tokens of a sequence. Fails (our fault) where lengths disagree or a needed span is missing.
std::vector<TokenInput> make_tokens(const SequenceView& sequence, const Traits& traits);

/// What `plan` prints about a loss.
struct WeightRange {
  double lower = 0, upper = 1;     // of w over all tokens
  bool boundary_reachable = true;  // can a token lie outside of the trust region at all?
  std::string words;               // one or two sentences: range, boundary, what it means
};

/// The trust region around one token of anchor probability p: probabilities between which nothing
/// is masked or reversed. +-inf (or 0 / 1 and beyond) = no bound on that side.
struct Boundary {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;

  std::string_view name() const { return name_; }
  const Traits& traits() const { return traits_; }

  /// Writes T results. Tokens left out by the loss mask get loss and dlogp exactly 0.
  void evaluate(const SequenceView& sequence, std::span<TokenResult> results) const;
  /// The same from scalars.
  void evaluate_tokens(std::span<const TokenInput> tokens, std::span<TokenResult> results) const;

  virtual WeightRange weight_range() const = 0;
  virtual std::optional<Boundary> boundary(double anchor_p) const;

 protected:
  explicit Algorithm(const Traits& traits) : traits_(traits) {}

 private:
  friend void set_algorithm_name(Algorithm& algorithm, std::string name);
  /// Fills results[t] for every token; what it writes for inactive ones is overwritten.
  virtual void compute(std::span<const TokenInput> tokens,
                       std::span<TokenResult> results) const = 0;

  std::string name_;
  Traits traits_;
};
void set_algorithm_name(Algorithm& algorithm, std::string name);

/// A loss whose tokens do not see each other: override one function.
class TokenAlgorithm : public Algorithm {
 public:
  virtual TokenResult token(const TokenInput& token) const = 0;

 protected:
  using Algorithm::Algorithm;

 private:
  void compute(std::span<const TokenInput> tokens, std::span<TokenResult> results) const final;
};

}  // namespace minirl::rl
