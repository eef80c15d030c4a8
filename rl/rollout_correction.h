// minirl rl/rollout_correction.h -- constants made of rho = pi_old/mu that multiply a loss anchored
// at pi_old, where sampling and training do not agree to the bit. docs/math/policy_loss.md (corr.1)
// .. (corr.6).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rl/algorithm.h"

namespace minirl::rl {

enum class CorrectionKind {
  none,
  tis,             // min(rho, cap)                                        (corr.1)
  tis_sequence,    // min(prod rho, cap) for all tokens                    (corr.2)
  mis,             // rho if rho <= cap else 0                             (corr.3)
  mis_sequence,    // prod rho if it is <= cap else 0                      (corr.4)
  icepop,          // rho if low <= rho <= high else 0                     (corr.5)
  geometric_mask,  // rho if low <= exp(mean log rho) <= high else 0       (corr.6)
};
std::string_view correction_name(CorrectionKind kind);       // "none", "tis", "tis-sequence", ...
CorrectionKind correction_from_name(std::string_view name);  // Exit::usage, "did you mean"
std::vector<std::string> correction_names();

struct CorrectionOptions {
  CorrectionKind kind = CorrectionKind::none;
  double cap = 2;              // tis, mis; inclusive
  double low = 0.5, high = 5;  // icepop, geometric_mask; inclusive
};
/// The kind with the values its source uses: tis 2, mis 3, icepop 0.5 to 5, geometric_mask 0.999
/// to 1.001.
CorrectionOptions usual_correction(CorrectionKind kind);

/// Refuses (Exit::usage, with the reason) a loss whose weight is already pi/mu, and limits that
/// make no sense.
void check_correction(std::string_view algorithm, const Traits& traits,
                      const CorrectionOptions& options);

/// One constant a token; 1 for `none`, 0 for tokens left out by the loss mask (they enter no
/// product and no mean). Tokens need pi_old.
std::vector<double> correction_weights(const CorrectionOptions& options,
                                       std::span<const TokenInput> tokens);

/// Multiplies loss, dlogp, weight and penalty; a token of weight 0 gets the reason
/// correction_masked. Before add_kl_penalty, which is not corrected.
void apply_correction(std::span<const double> weights, std::span<TokenResult> results);

}  // namespace minirl::rl
