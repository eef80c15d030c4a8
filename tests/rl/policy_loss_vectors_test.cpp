// Every token of the vectors through every loss, and the tokens that lie exactly on a boundary.
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

// Both sides compute the same closed form in double; the only difference is exp(log p) for p.
constexpr double kClosedForm = 1e-13;

struct Row {
  std::string label;  // in the vectors
  std::string algorithm;
  Settings params;
  bool score_function;  // the vectors state the loss of the score-function form
};

const std::vector<Row>& rows() {
  static const std::vector<Row> list{
      {"PG-IS", "pg_is", {}, true},
      {"PG-TIS C=3", "cispo", {{"cap", 3.}}, true},
      {"CISPO[.8,1.2]", "cispo", {{"cap", 1.2}, {"floor", .8}}, true},
      {"E1 .5", "bad_update_mask", {{"delta", .5}}, true},
      {"relax-both a=.1", "relaxed_clip", {{"alpha", .1}}, true},
      {"relax-high a=.1", "relaxed_clip", {{"alpha", .1}, {"relax", std::string("high")}}, true},
      {"relax-low a=.1", "relaxed_clip", {{"alpha", .1}, {"relax", std::string("low")}}, true},
      {"SAPO 1/1.05", "sapo", {{"anchor", std::string("rollout")}}, false},
      {"PPO .2/.28", "ppo", {{"clip_low", .2}, {"clip_high", .28}}, false},
      {"PPO dual c=3", "ppo", {{"clip_low", .2}, {"clip_high", .28}, {"dual_clip", 3.}}, false},
      {"DPPO-TV .2", "dppo_tv", {{"delta", .2}}, true},
      {"DPPO-TV .2 C=3", "dppo_tv", {{"delta", .2}, {"cap", 3.}}, true},
      {"DPPO-KL .05", "dppo_kl", {{"delta", .05}}, true},
      {"SPO .2", "spo", {{"epsilon", .2}}, false},
      {"SPO 12.5", "spo", {{"epsilon", 12.5}}, false},
      {"DRPO .2", "drpo", {{"delta", .2}}, false},
      {"DRPO 12.5", "drpo", {{"delta", 12.5}}, false},
  };
  return list;
}

TokenInput token_of(const Json& t) {
  return TokenInput::from_probabilities(t.at("pi").get<double>(), t.at("mu").get<double>(),
                                        t.at("A").get<double>());
}

void compare(const Json& a, const Json& b, const std::string& path) {
  CAPTURE(path);
  REQUIRE(a.type() == b.type());
  if (a.is_object()) {
    for (const auto& [key, value] : b.items()) {
      if (key == "note") {
        continue;
      }
      REQUIRE(a.contains(key));
      compare(a.at(key), value, path + "/" + key);
    }
  } else if (a.is_array()) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      compare(a[i], b[i], path + "/" + std::to_string(i));
    }
  } else {
    CHECK(a == b);
  }
}

}  // namespace

TEST_CASE("rl/policy_loss: the committed vectors are those of the specification") {
  const std::string spec = std::string(MINIRL_SOURCE_DIR) + "/../shared/spec/test_vectors.json";
  if (!std::filesystem::exists(spec)) {
    MESSAGE("SKIP: no specification beside the checkout; the committed copy is used alone");
    return;
  }
  compare(vectors(), read_json(spec), "");
}

TEST_CASE("rl/policy_loss: gradient and loss of every token of the vectors") {
  for (const Row& row : rows()) {
    const auto algorithm = make(row.algorithm, row.params);
    for (const Json& t : vectors().at("tokens")) {
      const TokenInput token = token_of(t);
      const TokenResult got = evaluate_one(*algorithm, token);
      const std::string id = t.at("id").get<std::string>();
      CAPTURE(row.label);
      CAPTURE(id);
      CHECK(near(got.dlogp, t.at("g").at(row.label).get<double>(), kClosedForm));
      const double loss = row.score_function ? score_function_loss(got, token) : got.loss;
      CHECK(near(loss, t.at("loss").at(row.label).get<double>(), kClosedForm));
      // g = -A r w by definition of the weight.
      CHECK(near(got.dlogp, -token.advantage * got.ratio * got.weight, kClosedForm));
      if (token.advantage == 0) {
        CHECK(got.dlogp == 0);
        CHECK((got.reasons & MaskReason::zero_advantage) != 0);
      }
    }
  }
}

TEST_CASE("rl/policy_loss: a loss with a detached weight reports -A min(r, C) M") {
  for (const Row& row : rows()) {
    if (!row.score_function) {
      continue;
    }
    const auto algorithm = make(row.algorithm, row.params);
    CHECK_FALSE(algorithm->traits().ratio_form);
    for (const Json& t : vectors().at("tokens")) {
      const TokenResult got = evaluate_one(*algorithm, token_of(t));
      CHECK(same_bits(got.loss, got.dlogp));
    }
  }
}

TEST_CASE("rl/policy_loss: a token exactly on its boundary, and the two anchors") {
  const std::map<std::string, std::pair<std::string, Settings>> losses{
      {"DPPO-TV d=.25", {"dppo_tv", {{"delta", .25}}}},
      {"PPO el=.25 eh=.5", {"ppo", {{"clip_low", .25}, {"clip_high", .5}}}},
      {"dual c=4", {"ppo", {{"clip_low", .2}, {"clip_high", .28}, {"dual_clip", 4.}}}},
      {"E1 d=.5", {"bad_update_mask", {{"delta", .5}}}},
      {"relax-both a=.125", {"relaxed_clip", {{"alpha", .125}}}},
      {"TIS C=4", {"cispo", {{"cap", 4.}}}},
      {"MiniRL .2/.28", {"mini_rl", {}}},
      {"MiniRL-TIS C=3", {"mini_rl", {{"cap", 3.}}}},
      {"GRPO-mask .2/.28", {"ppo", {{"clip_low", .2}, {"clip_high", .28}}}},
  };
  int seen = 0;
  for (const Json& b : vectors().at("boundaries")) {
    const auto it = losses.find(b.at("loss").get<std::string>());
    REQUIRE(it != losses.end());
    ++seen;
    CAPTURE(b.dump());
    const auto algorithm = make(it->second.first, it->second.second);
    std::optional<double> old;
    if (!b.at("old").is_null()) {
      old = b.at("old").get<double>();
    }
    const TokenInput token = TokenInput::from_probabilities(
        b.at("pi").get<double>(), b.at("mu").get<double>(), b.at("A").get<double>(), old);
    CHECK(near(evaluate_one(*algorithm, token).dlogp, b.at("g").get<double>(), kClosedForm));
  }
  CHECK(seen == 15);
}

TEST_CASE("rl/policy_loss: one step beyond the boundary is masked, the boundary itself is not") {
  // Exact binary fractions, so that the comparison at the boundary is exact.
  const double step = 0x1p-40;
  const auto tv = make("dppo_tv", {{"delta", .25}});
  CHECK_FALSE(evaluate_one(*tv, TokenInput::from_probabilities(.75, .5, 1)).masked());
  CHECK(evaluate_one(*tv, TokenInput::from_probabilities(.75 + step, .5, 1)).reasons ==
        (MaskReason::divergence_positive | MaskReason::outside_upper));
  CHECK_FALSE(evaluate_one(*tv, TokenInput::from_probabilities(.5, .75, -1)).masked());
  CHECK(evaluate_one(*tv, TokenInput::from_probabilities(.5 - step, .75, -1)).reasons ==
        (MaskReason::divergence_negative | MaskReason::outside_lower));
  // Moving back is never masked, however far away.
  CHECK_FALSE(evaluate_one(*tv, TokenInput::from_probabilities(.01, .99, 1)).masked());
  CHECK_FALSE(evaluate_one(*tv, TokenInput::from_probabilities(.99, .01, -1)).masked());

  const auto ppo = make("ppo", {{"clip_low", .25}, {"clip_high", .5}, {"dual_clip", 4.}});
  CHECK_FALSE(evaluate_one(*ppo, TokenInput::from_probabilities(.75, .5, 1)).masked());
  CHECK(evaluate_one(*ppo, TokenInput::from_probabilities(.75 + step, .5, 1)).reasons ==
        (MaskReason::clipped_high | MaskReason::outside_upper));
  CHECK_FALSE(evaluate_one(*ppo, TokenInput::from_probabilities(.375, .5, -1)).masked());
  CHECK(evaluate_one(*ppo, TokenInput::from_probabilities(.375 - step, .5, -1)).reasons ==
        (MaskReason::clipped_low | MaskReason::outside_lower));
  CHECK_FALSE(evaluate_one(*ppo, TokenInput::from_probabilities(.5, .125, -1)).masked());
  CHECK(evaluate_one(*ppo, TokenInput::from_probabilities(.5 + step, .125, -1)).reasons ==
        (MaskReason::dual_clip | MaskReason::outside_upper));

  // The KL boundary: just inside and just outside of where it lies.
  const auto kl = make("dppo_kl", {{"delta", .05}});
  const auto bounds = kl->boundary(.3);
  REQUIRE(bounds);
  CHECK_FALSE(
      evaluate_one(*kl, TokenInput::from_probabilities(bounds->upper - 1e-9, .3, 1)).masked());
  CHECK(evaluate_one(*kl, TokenInput::from_probabilities(bounds->upper + 1e-9, .3, 1)).masked());
  CHECK_FALSE(
      evaluate_one(*kl, TokenInput::from_probabilities(bounds->lower + 1e-9, .3, -1)).masked());
  CHECK(evaluate_one(*kl, TokenInput::from_probabilities(bounds->lower - 1e-9, .3, -1)).masked());
  CHECK_FALSE(
      evaluate_one(*kl, TokenInput::from_probabilities(bounds->lower - 1e-9, .3, 1)).masked());
}

TEST_CASE("rl/policy_loss: every loss and every boundary of the vectors is covered") {
  for (const auto& item : vectors().at("tokens")[0].at("g").items()) {
    const std::string label = item.key();
    bool found = false;
    for (const Row& row : rows()) {
      found = found || row.label == label;
    }
    CHECK_MESSAGE(found, label);
  }
}

TEST_CASE("rl/policy_loss: E1 is not strict, all other masks are") {
  const double step = 0x1p-40;
  const auto at = [](const Algorithm& algorithm, double pi, double mu, double advantage,
                     double old) {
    return evaluate_one(algorithm, TokenInput::from_probabilities(pi, mu, advantage, old)).reasons;
  };
  const auto e1 = make("bad_update_mask", {{"delta", .5}});
  CHECK(at(*e1, .25, .75, -1, .75) == (MaskReason::bad_update | MaskReason::outside_lower));
  CHECK(at(*e1, .25 + step, .75, -1, .75) == 0);
  const auto ipo = make("ipo", {{"delta", .25}});
  CHECK(at(*ipo, .75, .5, 1, .5) == 0);
  CHECK(at(*ipo, .75 + step, .5, 1, .5) ==
        (MaskReason::divergence_any_sign | MaskReason::outside_upper));
  // Coming back, too: the test of the direction is missing on purpose.
  CHECK(at(*ipo, .25 - step, .5, 1, .5) ==
        (MaskReason::divergence_any_sign | MaskReason::outside_lower));
  const auto mini = make("mini_rl", {{"clip_low", .25}, {"clip_high", .5}});
  CHECK(at(*mini, .75, .6, 1, .5) == 0);
  CHECK(at(*mini, .75 + step, .6, 1, .5) == (MaskReason::clipped_high | MaskReason::outside_upper));
  CHECK(at(*mini, .375, .6, -1, .5) == 0);
  CHECK(at(*mini, .375 - step, .6, -1, .5) ==
        (MaskReason::clipped_low | MaskReason::outside_lower));
  const auto relaxed =
      make("relaxed_clip", {{"alpha", .125}, {"clip_low", .25}, {"clip_high", .5}});
  CHECK(at(*relaxed, .75, .5, 1, .5) == 0);
  CHECK(at(*relaxed, .75 + step, .5, 1, .5) ==
        (MaskReason::clipped_high | MaskReason::outside_upper));
  CHECK(at(*relaxed, .375, .5, -1, .5) == 0);
  CHECK(at(*relaxed, .375 - step, .5, -1, .5) ==
        (MaskReason::clipped_low | MaskReason::outside_lower));
  CHECK(at(*relaxed, .75, .125, 1, .125) == (MaskReason::clipped_high | MaskReason::outside_upper));
  CHECK(at(*relaxed, .75, .125 - step, 1, .125) ==
        (MaskReason::relaxed | MaskReason::outside_upper));
  CHECK(at(*relaxed, .03, .125 - step, -1, .125) ==
        (MaskReason::relaxed | MaskReason::outside_lower));
}

TEST_CASE("rl/policy_loss: a cap truncates the weight and keeps the token, a floor lifts it") {
  const auto cispo = make("cispo", {{"cap", 3.}, {"floor", .5}});
  const TokenResult high = evaluate_one(*cispo, TokenInput::from_probabilities(.5, .0625, 1));
  CHECK(high.dlogp == -3);
  CHECK(high.reasons == MaskReason::capped);
  const TokenResult low = evaluate_one(*cispo, TokenInput::from_probabilities(.0625, .5, -1));
  CHECK(low.dlogp == .5);
  CHECK(low.reasons == MaskReason::floored);
  const TokenInput rare = TokenInput::from_probabilities(.5, .0625, 1);
  CHECK(evaluate_one(*make("cispo", {{"cap", std::string("off")}}), rare).dlogp == -8);
}

TEST_CASE("rl/ipo: the squared log-ratio is paid by dropped tokens too") {
  const auto ipo = make("ipo", {{"delta", .1}, {"kl_tau", .3}});
  const TokenResult got = evaluate_one(*ipo, TokenInput::from_probabilities(.75, .5, 1));
  const double log_ratio = std::log(1.5);
  CHECK(got.masked());
  CHECK(near(got.loss, .3 * log_ratio * log_ratio, kClosedForm));
  CHECK(near(got.dlogp, .6 * log_ratio, kClosedForm));
  CHECK(near(got.penalty, got.loss, kClosedForm));
}

TEST_CASE(
    "rl/policy_loss: the published example: a rare token passes DPPO and a frequent one does not, "
    "PPO the other way") {
  const auto ppo = make("ppo", {{"clip_low", .2}, {"clip_high", .2}});
  const auto dppo = make("dppo_tv", {{"delta", .05}});
  const TokenInput rare = TokenInput::from_probabilities(1e-2, 1e-4, 1);
  const TokenInput frequent = TokenInput::from_probabilities(.80, .99, -1);
  CHECK(evaluate_one(*ppo, rare).masked());
  CHECK_FALSE(evaluate_one(*dppo, rare).masked());
  CHECK_FALSE(evaluate_one(*ppo, frequent).masked());
  CHECK(evaluate_one(*dppo, frequent).masked());
}

}  // namespace minirl::rl::test
