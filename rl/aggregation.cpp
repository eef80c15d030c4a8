#include "rl/aggregation.h"

#include <array>
#include <utility>

#include "core/registry.h"

namespace minirl::rl {
namespace {

constexpr std::array<std::pair<AggMode, std::string_view>, 5> kNames{{
    {AggMode::token_mean, "token-mean"},
    {AggMode::seq_mean_token_sum, "seq-mean-token-sum"},
    {AggMode::seq_mean_token_mean, "seq-mean-token-mean"},
    {AggMode::seq_mean_token_sum_norm, "seq-mean-token-sum-norm"},
    {AggMode::token_sum, "token-sum"},
}};

}  // namespace

std::string_view agg_mode_name(AggMode mode) {
  for (const auto& [m, name] : kNames) {
    if (m == mode) {
      return name;
    }
  }
  return "?";
}

std::vector<std::string> agg_mode_names() {
  std::vector<std::string> out;
  for (const auto& entry : kNames) {
    out.emplace_back(entry.second);
  }
  return out;
}

AggMode agg_mode_from_name(std::string_view name) {
  for (const auto& [mode, n] : kNames) {
    if (n == name) {
      return mode;
    }
  }
  std::string list;
  for (const auto& entry : kNames) {
    list += (list.empty() ? "" : ", ") + std::string(entry.second);
  }
  const std::string near = nearest_name(name, agg_mode_names());
  fail(Exit::usage, fmt::format("unknown loss_agg_mode '{}'", name),
       (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + "known: " + list);
}

std::string agg_mode_words(AggMode mode, double horizon) {
  switch (mode) {
    case AggMode::token_mean:
      return "sum of the token losses / number of unmasked tokens of the optimizer step: every "
             "token weighs the same";
    case AggMode::seq_mean_token_sum:
      return "sum of the token losses / number of sequences: long responses weigh more";
    case AggMode::seq_mean_token_mean:
      return "mean over sequences of the mean over their unmasked tokens: a token of a long "
             "response weighs less";
    case AggMode::seq_mean_token_sum_norm:
      return fmt::format(
          "sum of the token losses / (number of sequences x horizon {}): every token weighs the "
          "same, "
          "whatever the lengths in the batch",
          horizon);
    case AggMode::token_sum:
      return "sum of the token losses: the step grows with the batch";
  }
  return "?";
}

void add_sequence(Totals& totals, Index sequence_tokens, FullyMasked policy) {
  MINIRL_CHECK(sequence_tokens >= 0, "{} tokens", sequence_tokens);
  if (sequence_tokens > 0 || policy == FullyMasked::count) {
    totals.sequences += 1;
  }
  totals.tokens += static_cast<double>(sequence_tokens);
}

Index unmasked_tokens(std::span<const std::uint8_t> loss_mask, Index length) {
  if (loss_mask.empty()) {
    return length;
  }
  Index count = 0;
  for (const std::uint8_t m : loss_mask) {
    count += m != 0 ? 1 : 0;
  }
  return count;
}

double token_weight(AggMode mode, const Totals& totals, Index sequence_tokens, double horizon) {
  if (sequence_tokens == 0) {
    return 0;
  }
  MINIRL_CHECK(totals.tokens > 0 && totals.sequences > 0,
               "totals of an empty step ({} tokens, {} sequences)", totals.tokens,
               totals.sequences);
  switch (mode) {
    case AggMode::token_mean:
      return 1 / totals.tokens;
    case AggMode::seq_mean_token_sum:
      return 1 / totals.sequences;
    case AggMode::seq_mean_token_mean:
      return 1 / (totals.sequences * static_cast<double>(sequence_tokens));
    case AggMode::seq_mean_token_sum_norm:
      MINIRL_CHECK(horizon > 0, "seq-mean-token-sum-norm needs a horizon above 0, not {}", horizon);
      return 1 / (totals.sequences * horizon);
    case AggMode::token_sum:
      return 1;
  }
  return 0;
}

}  // namespace minirl::rl
