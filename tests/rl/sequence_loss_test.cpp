// Losses in which the tokens of a sequence depend on each other: GSPO, GMPO, CPPO.
#include <doctest/doctest.h>

#include "core/fmath.h"
#include "rl/aggregation.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

constexpr double kClosedForm = 1e-13;
constexpr double kStep = 1e-6;
constexpr double kDifference = 1e-7;

std::vector<TokenResult> evaluate(const Algorithm& algorithm, std::span<const TokenInput> tokens) {
  std::vector<TokenResult> out(tokens.size());
  algorithm.evaluate_tokens(tokens, out);
  return out;
}

Index active(std::span<const TokenInput> tokens) {
  Index n = 0;
  for (const TokenInput& t : tokens) {
    n += t.active ? 1 : 0;
  }
  return n;
}

/// Loss of one sequence under seq-mean-token-mean.
double sequence_loss(std::span<const TokenInput> tokens, std::span<const TokenResult> results) {
  const double w = token_weight(AggMode::seq_mean_token_mean,
                                {1, static_cast<double>(active(tokens))}, active(tokens), 0);
  double loss = 0;
  for (const TokenResult& r : results) {
    loss += w * r.loss;
  }
  return loss;
}

std::vector<TokenInput> three_tokens(double advantage) {
  const Json& v = vectors().at("gspo_gmpo");
  std::vector<TokenInput> tokens;
  for (std::size_t i = 0; i < 3; ++i) {
    const double pi = v.at("new")[i];
    const double old = v.at("old")[i];
    tokens.push_back(TokenInput::from_logs(std::log(pi), std::log(old), advantage, std::log(old)));
  }
  return tokens;
}

}  // namespace

TEST_CASE("rl/gspo, rl/gmpo: loss and gradient of the vectors") {
  constexpr double kVectorDifference = 1e-9;  // the vectors' gradients are central differences
  struct Case {
    std::string key, name;
    Settings params;
  };
  for (const Case& c : {Case{"gspo", "gspo", {{"clip_low", .2}, {"clip_high", .28}}},
                        Case{"gmpo_.2", "gmpo", {{"clip_low", .2}, {"clip_high", .2}}}}) {
    const auto algorithm = make(c.name, c.params);
    for (const char* sign : {"1.0", "-1.0"}) {
      CAPTURE(c.key);
      CAPTURE(sign);
      const Json& want = vectors().at("gspo_gmpo").at(c.key).at(sign);
      const auto tokens = three_tokens(std::stod(sign));
      const auto got = evaluate(*algorithm, tokens);
      CHECK(near(sequence_loss(tokens, got), want.at("loss"), kClosedForm));
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(near(got[i].dlogp / 3, want.at("g")[i], kVectorDifference));
      }
    }
  }
  // The published bounds: below 1 - 3e-4 with A < 0 the whole sequence is dropped.
  const auto tight = evaluate(*make("gspo", {}), three_tokens(-1));
  CHECK(near(tight[0].loss, 0.9997, kClosedForm));
  for (const TokenResult& r : tight) {
    CHECK(r.dlogp == 0);
    CHECK((r.reasons & MaskReason::sequence_clipped) != 0);
  }
  CHECK(near(evaluate(*make("gspo", {}), three_tokens(1))[0].dlogp / 3, -0.32183, 1e-5));
  // A wider clip keeps all three tokens of GMPO.
  CHECK(near(evaluate(*make("gmpo", {}), three_tokens(-1))[1].dlogp / 3, 0.32183, 1e-5));
}

TEST_CASE("rl/cppo: every step of the vectors, and why a token is masked") {
  for (const char* key : {"cppo", "cppo2", "cppo3"}) {
    CAPTURE(key);
    const Json& v = vectors().at(key);
    const auto algorithm = make("cppo", {{"delta", .2}, {"w_min", .8}, {"budget", .02}});
    std::vector<TokenInput> tokens;
    for (std::size_t t = 0; t < v.at("mu").size(); ++t) {
      tokens.push_back(TokenInput::from_probabilities(v.at("pi")[t], v.at("mu")[t], 1));
    }
    const auto got = evaluate(*algorithm, tokens);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const Json& row = v.at("rows")[t];
      CAPTURE(t);
      CHECK(got[t].masked() == !row[7].get<bool>());
      CHECK(near(got[t].dlogp, row[8], kClosedForm));
      CHECK(near(got[t].divergence, row[2], kClosedForm));
      const bool token_alone = row[3].get<double>() > .2;
      CHECK(((got[t].reasons & MaskReason::budget_token) != 0) == (got[t].masked() && token_alone));
      CHECK(((got[t].reasons & MaskReason::budget_prefix) != 0) ==
            (got[t].masked() && !token_alone));
    }
  }
}

TEST_CASE(
    "rl/cppo: the allowance of a token grows along the sequence, and a fixed budget is used as it "
    "is") {
  // The last of three tokens may move by delta / w_min.
  const auto algorithm = make("cppo", {{"delta", .2}, {"w_min", .8}, {"budget", 10.}});
  const auto last = [&](double shift) {
    std::vector<TokenInput> tokens(2, TokenInput::from_probabilities(.5, .5, 1));
    tokens.push_back(TokenInput::from_probabilities(.5 + shift, .5, 1));
    return evaluate(*algorithm, tokens)[2].masked();
  };
  CHECK_FALSE(last(.249));
  CHECK(last(.251));
  // delta 0.2, fixed budget 0.01: after a token that spent 0.19 the next may spend min(0.2, 0.2 +
  // 0.01 - 0.19).
  const auto fixed =
      make("cppo", {{"delta", .2}, {"w_min", 1.}, {"budget", .01}, {"dynamic_budget", false}});
  const auto second = [&](double shift) {
    const std::vector<TokenInput> tokens{TokenInput::from_probabilities(.69, .5, 1),
                                         TokenInput::from_probabilities(.5 + shift, .5, 1)};
    return evaluate(*fixed, tokens)[1].masked();
  };
  CHECK_FALSE(second(.0199));
  CHECK(second(.0201));
}

TEST_CASE(
    "rl/sequence losses: the gradient is the derivative of the sequence's loss, through every "
    "token") {
  Random random(21);
  for (const char* name : {"gspo", "gmpo", "cppo"}) {
    CAPTURE(name);
    const auto algorithm =
        make(name, name == std::string("gspo") ? Settings{{"clip_low", .1}, {"clip_high", .1}}
                                               : Settings{});
    int compared = 0;
    int masked = 0;
    for (int i = 0; i < 300; ++i) {
      std::vector<TokenInput> tokens;
      const double advantage = random.between(-2, 2);
      for (int t = 1 + random.below(6); t > 0; --t) {
        const double log_mu = random.between(-3, -0.7);
        tokens.push_back(TokenInput::from_logs(log_mu + random.between(-.6, .6), log_mu, advantage,
                                               log_mu + random.between(-.1, .1)));
        tokens.back().active = random.below(4) != 0;
      }
      if (active(tokens) == 0) {
        continue;
      }
      const auto here = evaluate(*algorithm, tokens);
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        const auto moved = [&](double step) {
          auto copy = tokens;
          copy[t] = TokenInput::from_logs(tokens[t].log_pi + step, tokens[t].rollout.log_p,
                                          advantage, tokens[t].recomputed.log_p);
          copy[t].active = tokens[t].active;
          return copy;
        };
        const auto left = evaluate(*algorithm, moved(-kStep));
        const auto right = evaluate(*algorithm, moved(kStep));
        bool kink = false;
        for (std::size_t u = 0; u < tokens.size(); ++u) {
          kink = kink || left[u].reasons != right[u].reasons;
        }
        if (kink) {
          continue;
        }
        const double difference =
            (sequence_loss(tokens, right) - sequence_loss(tokens, left)) / (2 * kStep);
        const double w = 1 / static_cast<double>(active(tokens));
        CHECK(std::fabs(w * here[t].dlogp - difference) <=
              kDifference * std::fmax(1, std::fabs(advantage)));
        ++compared;
        masked += here[t].masked() ? 1 : 0;
      }
    }
    CHECK(compared > 500);
    CHECK(masked > 20);
  }
}

TEST_CASE(
    "rl/sequence losses: tokens left out by the loss mask change neither the ratio nor the "
    "length") {
  for (const char* name : {"gspo", "gmpo"}) {
    CAPTURE(name);
    const auto algorithm = make(name, {{"clip_low", .2}, {"clip_high", .2}});
    auto tokens = three_tokens(1);
    const auto before = evaluate(*algorithm, tokens);
    TokenInput extreme = TokenInput::from_logs(-9, -1, 1, -1);
    extreme.active = false;
    tokens.insert(tokens.begin() + 1, extreme);
    const auto after = evaluate(*algorithm, tokens);
    CHECK(same_bits(before[0].dlogp, after[0].dlogp));
    CHECK(same_bits(before[1].dlogp, after[2].dlogp));
    CHECK(after[1].reasons == MaskReason::loss_mask);
    for (TokenInput& t : tokens) {
      t.active = false;
    }
    for (const TokenResult& r : evaluate(*algorithm, tokens)) {
      CHECK(same_bits(r.dlogp, 0.0));
    }
  }
}

TEST_CASE("rl/sequence losses: those that are means of token means say so") {
  CHECK(make("gspo", {})->traits().needs_seq_mean_token_mean);
  CHECK(make("gmpo", {})->traits().needs_seq_mean_token_mean);
  CHECK_FALSE(make("cppo", {})->traits().needs_seq_mean_token_mean);
  CHECK(make("cppo", {})->traits().sequence_level);
  CHECK(make("gspo", {})->traits().needs_recomputed);
  CHECK_FALSE(make("gspo", {{"anchor", std::string("rollout")}})->traits().needs_recomputed);
}

}  // namespace minirl::rl::test
