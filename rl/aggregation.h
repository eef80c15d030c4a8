// minirl rl/aggregation.h -- from one loss a token to one loss a step: a weight per token from the
// counts of the WHOLE optimizer step, so that micro-batches and ranks may cut it anywhere.
// docs/math/policy_loss.md (agg.1) .. (agg.5).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace minirl::rl {

enum class AggMode {
  token_mean,
  seq_mean_token_sum,
  seq_mean_token_mean,
  seq_mean_token_sum_norm,
  token_sum
};

/// "token-mean", ... as in `loss_agg_mode`.
std::string_view agg_mode_name(AggMode mode);
AggMode agg_mode_from_name(std::string_view name);  // Exit::usage, "did you mean"
std::vector<std::string> agg_mode_names();
/// The formula in words, for `plan`.
std::string agg_mode_words(AggMode mode, double horizon);

/// Is a sequence whose every token is left out by the loss mask counted as a sequence (adding 0)?
enum class FullyMasked { count, exclude };

/// Of the whole optimizer step: all ranks, all micro-batches.
struct Totals {
  double sequences = 0;
  double tokens = 0;  // not left out by the loss mask
};

/// Adds one sequence with that many unmasked tokens.
void add_sequence(Totals& totals, Index sequence_tokens, FullyMasked policy = FullyMasked::count);
/// Entries of a loss mask that are not 0; `length` for an empty mask.
Index unmasked_tokens(std::span<const std::uint8_t> loss_mask, Index length);

/// The factor of loss and dlogp of each unmasked token of a sequence with `sequence_tokens` of
/// them:
///   token-mean               1 / totals.tokens                             (agg.1)
///   seq-mean-token-sum       1 / totals.sequences                          (agg.2)
///   seq-mean-token-mean      1 / (totals.sequences * sequence_tokens)      (agg.3)
///   seq-mean-token-sum-norm  1 / (totals.sequences * horizon)              (agg.4)
///   token-sum                1                                             (agg.5)
/// 0 where there is nothing to weigh (no tokens). `horizon` in tokens, used by (agg.4) only, > 0.
double token_weight(AggMode mode, const Totals& totals, Index sequence_tokens, double horizon);

}  // namespace minirl::rl
