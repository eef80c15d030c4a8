#include "rl/aggregation.h"

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

constexpr double kRounding = 1e-15;

struct Sequence {
  std::vector<double> loss;
  std::vector<std::uint8_t> mask;
};

/// The three sequences of the vectors: two tokens; four of which one is left out; two, both left
/// out.
const std::vector<Sequence>& batch() {
  static const std::vector<Sequence> list{
      {{1, 3}, {1, 1}}, {{2, 4, 6, 9}, {1, 1, 1, 0}}, {{5, 5}, {0, 0}}};
  return list;
}

Index active(const Sequence& s) {
  return unmasked_tokens(s.mask, static_cast<Index>(s.loss.size()));
}

Totals totals_of(const std::vector<Sequence>& sequences, FullyMasked policy) {
  Totals totals;
  for (const Sequence& s : sequences) {
    add_sequence(totals, active(s), policy);
  }
  return totals;
}

double aggregate(const std::vector<Sequence>& sequences, AggMode mode, const Totals& totals,
                 double horizon) {
  double loss = 0;
  for (const Sequence& s : sequences) {
    const double w = token_weight(mode, totals, active(s), horizon);
    for (std::size_t t = 0; t < s.loss.size(); ++t) {
      loss += s.mask[t] != 0 ? w * s.loss[t] : 0;
    }
  }
  return loss;
}

}  // namespace

TEST_CASE(
    "rl/aggregation: every mode on the vectors, fully masked sequences counted and excluded") {
  struct Row {
    std::string label;
    AggMode mode;
    FullyMasked policy;
    double horizon;
  };
  using enum AggMode;
  const std::vector<Row> rows{
      {"token-mean", token_mean, FullyMasked::count, 0},
      {"token-mean", token_mean, FullyMasked::exclude, 0},
      {"seq-mean-token-sum (masked excluded)", seq_mean_token_sum, FullyMasked::exclude, 0},
      {"seq-mean-token-sum (masked counted)", seq_mean_token_sum, FullyMasked::count, 0},
      {"seq-mean-token-mean (excluded)", seq_mean_token_mean, FullyMasked::exclude, 0},
      {"seq-mean-token-mean (counted)", seq_mean_token_mean, FullyMasked::count, 0},
      {"seq-mean-token-sum-norm h=8 (excluded)", seq_mean_token_sum_norm, FullyMasked::exclude, 8},
      {"seq-mean-token-sum-norm h=8 (counted)", seq_mean_token_sum_norm, FullyMasked::count, 8},
      {"Dr.GRPO TRL sum/(B*max_len=8)", seq_mean_token_sum_norm, FullyMasked::count, 8},
      {"norm with default horizon=padded width 4 (excluded)", seq_mean_token_sum_norm,
       FullyMasked::exclude, 4},
      {"token-mean, micro, correct global denominator", token_mean, FullyMasked::count, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.label);
    const Totals totals = totals_of(batch(), row.policy);
    CHECK(near(aggregate(batch(), row.mode, totals, row.horizon),
               vectors().at("aggregation").at(row.label), kRounding));
  }
  // What older code bases computed instead, for the record: none of it is a mode here.
  const Totals all = totals_of(batch(), FullyMasked::count);
  CHECK(near(aggregate(batch(), token_sum, all, 0) / 8,
             vectors().at("aggregation").at("legacy verl<=0.6 norm (no seq mean)"), kRounding));
  CHECK(
      near(aggregate(batch(), token_sum, all, 0) / 8,
           vectors().at("aggregation").at("unmasked .mean() over packed length (UniRL bug PR#448)"),
           kRounding));
}

TEST_CASE(
    "rl/aggregation: cutting the batch into micro-batches changes no bit of any token's weight or "
    "of the loss") {
  Random random(11);
  std::vector<Sequence> sequences;
  for (int i = 0; i < 17; ++i) {
    Sequence s;
    for (int t = random.below(9); t >= 0; --t) {
      s.loss.push_back(random.between(-3, 3));
      s.mask.push_back(random.below(5) == 0 ? 0 : 1);
    }
    sequences.push_back(s);
  }
  sequences[5].mask.assign(sequences[5].mask.size(), 0);
  for (const std::string& name : agg_mode_names()) {
    CAPTURE(name);
    const AggMode mode = agg_mode_from_name(name);
    const Totals totals = totals_of(sequences, FullyMasked::count);
    const double whole = aggregate(sequences, mode, totals, 64);
    for (const std::size_t size : {1U, 2U, 3U, 5U, 16U}) {
      double loss = 0;  // carried on over the micro-batches, as the trainer does
      for (std::size_t begin = 0; begin < sequences.size(); begin += size) {
        for (std::size_t i = begin; i < std::min(begin + size, sequences.size()); ++i) {
          const double w = token_weight(mode, totals, active(sequences[i]), 64);
          for (std::size_t t = 0; t < sequences[i].loss.size(); ++t) {
            loss += sequences[i].mask[t] != 0 ? w * sequences[i].loss[t] : 0;
          }
        }
      }
      CHECK(same_bits(loss, whole));
    }
  }
}

TEST_CASE("rl/aggregation: the micro-batch mistakes of the vectors give other numbers") {
  const auto& want = vectors().at("aggregation");
  // Each micro-batch divided by its own token count, then averaged: not the token mean.
  CHECK(near((4.0 / 2 + 12.0 / 3) / 2, want.at("token-mean, micro {1},{2,3}, plain 1/num_micro"),
             kRounding));
  CHECK(near((4.0 / 2) / 3 + (12.0 / 3) * 2 / 3,
             want.at("token-mean, micro {1},{2,3}, sample-count scaling"), kRounding));
  CHECK(want.at("token-mean") == want.at("token-mean, micro, correct global denominator"));
}

TEST_CASE("rl/aggregation: a sequence without tokens weighs nothing and divides nothing") {
  using enum AggMode;
  for (const AggMode mode :
       {token_mean, seq_mean_token_sum, seq_mean_token_mean, seq_mean_token_sum_norm, token_sum}) {
    CHECK(token_weight(mode, Totals{}, 0, 8) == 0);
  }
  Totals totals;
  add_sequence(totals, 0, FullyMasked::exclude);
  CHECK(totals.sequences == 0);
  add_sequence(totals, 0, FullyMasked::count);
  CHECK(totals.sequences == 1);
}

TEST_CASE("rl/aggregation: names go both ways and a typo gets a suggestion") {
  for (const std::string& name : agg_mode_names()) {
    CHECK(agg_mode_name(agg_mode_from_name(name)) == name);
    CHECK_FALSE(agg_mode_words(agg_mode_from_name(name), 64).empty());
  }
  CHECK_THROWS_WITH_AS(agg_mode_from_name("token-maen"),
                       doctest::Contains("did you mean 'token-mean'"), Error);
}

TEST_CASE("rl/aggregation: on the first update the loss is 0 and the gradient is not") {
  // Mean-centred advantages of one group, equal lengths, all ratios 1: the loss is minus the mean
  // advantage.
  const auto algorithm = make("ppo", {});
  const std::vector<double> advantages{.75, -.25, -.25, -.25};
  const Totals totals{4, 4};
  double loss = 0;
  double size = 0;
  for (const double advantage : advantages) {
    const TokenResult r =
        evaluate_one(*algorithm, TokenInput::from_probabilities(.5, .5, advantage));
    loss += token_weight(AggMode::token_mean, totals, 1, 0) * r.loss;
    size += std::fabs(token_weight(AggMode::token_mean, totals, 1, 0) * r.dlogp);
  }
  CHECK(loss == 0);
  CHECK(near(size, .375, kRounding));
}

TEST_CASE("rl/aggregation: batch mean and mean of row means differ, and each has its name") {
  // Rows of 5 and 1 valid tokens; token losses 2 and 10.
  const std::vector<Sequence> rows{{{2, 2, 2, 2, 2}, {1, 1, 1, 1, 1}}, {{10}, {1}}};
  const Totals totals = totals_of(rows, FullyMasked::count);
  CHECK(near(aggregate(rows, AggMode::token_mean, totals, 0), 20.0 / 6, kRounding));
  CHECK(near(aggregate(rows, AggMode::seq_mean_token_mean, totals, 0), 6.0, kRounding));
}

}  // namespace minirl::rl::test
