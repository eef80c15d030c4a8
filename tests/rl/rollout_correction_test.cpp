#include "rl/rollout_correction.h"

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

constexpr double kClosedForm = 1e-13;

std::vector<TokenInput> tokens_of_vectors() {
  const Json& v = vectors().at("rollout_corr");
  std::vector<TokenInput> out;
  for (std::size_t i = 0; i < 3; ++i) {
    const double train = v.at("train_p")[i];
    out.push_back(TokenInput::from_logs(
        std::log(train), std::log(v.at("rollout_p")[i].get<double>()), 1, std::log(train)));
  }
  return out;
}

CorrectionOptions of(CorrectionKind kind, double cap, double low = 0, double high = 0) {
  return {kind, cap, low, high};
}

void check(const CorrectionOptions& options, const std::vector<double>& want) {
  const auto got = correction_weights(options, tokens_of_vectors());
  for (std::size_t i = 0; i < want.size(); ++i) {
    CHECK(near(got[i], want[i], kClosedForm));
  }
}

}  // namespace

TEST_CASE("rl/rollout_correction: every kind on the vectors") {
  using enum CorrectionKind;
  const Json& v = vectors().at("rollout_corr");
  const auto rho = v.at("rho").get<std::vector<double>>();
  check(of(none, 2), {1, 1, 1});
  check(of(tis, 2), {2, .5, 2});
  check(of(tis, 100), rho);
  check(of(tis_sequence, 2), {2, 2, 2});
  check(of(tis_sequence, 100), {v.at("prod"), v.at("prod"), v.at("prod")});
  check(of(mis, 2.5), {2, .5, 0});
  check(of(mis_sequence, 2), {0, 0, 0});
  check(of(mis_sequence, 4), {3, 3, 3});
  check(of(icepop, 0, .5 - 1e-9, 5), rho);
  check(of(icepop, 0, .5 - 1e-9, 2.9), {2, .5, 0});
  check(of(icepop, 0, .6, 2.9), {2, 0, 0});
  check(of(geometric_mask, 0, .99, 1.01), {0, 0, 0});
  check(of(geometric_mask, 0, 1.4, 1.5), rho);  // the geometric mean is 1.4422
}

TEST_CASE("rl/rollout_correction: all limits are inclusive") {
  using enum CorrectionKind;
  // Equal policies: rho is exactly 1.
  const std::vector<TokenInput> equal(2, TokenInput::from_logs(-1, -2, 1, -2));
  for (const CorrectionOptions& o :
       {of(tis, 1), of(tis_sequence, 1), of(mis, 1), of(mis_sequence, 1), of(icepop, 0, 1, 1),
        of(geometric_mask, 0, 1, 1)}) {
    for (const double w : correction_weights(o, equal)) {
      CHECK(same_bits(w, 1.0));
    }
  }
  CHECK(correction_weights(of(mis, 1 - 1e-12), equal)[0] == 0);
}

TEST_CASE("rl/rollout_correction: tokens left out by the loss mask enter no product") {
  auto tokens = tokens_of_vectors();
  TokenInput extreme = TokenInput::from_logs(-1, -9, 1, -1);
  extreme.active = false;
  tokens.insert(tokens.begin(), extreme);
  const auto got = correction_weights(of(CorrectionKind::tis_sequence, 100), tokens);
  CHECK(got[0] == 0);
  CHECK(near(got[1], 3, kClosedForm));
}

TEST_CASE(
    "rl/rollout_correction: it multiplies loss and gradient and says which tokens it dropped") {
  const auto algorithm = make("ppo", {{"anchor", std::string("recomputed")}});
  const auto tokens = tokens_of_vectors();
  std::vector<TokenResult> plain(3);
  algorithm->evaluate_tokens(tokens, plain);
  auto corrected = plain;
  apply_correction(correction_weights(of(CorrectionKind::mis, 2.5), tokens), corrected);
  CHECK(near(corrected[0].dlogp, 2 * plain[0].dlogp, kClosedForm));
  CHECK(near(corrected[0].loss, 2 * plain[0].loss, kClosedForm));
  CHECK(near(corrected[1].weight, .5, kClosedForm));
  CHECK(same_bits(corrected[2].dlogp, 0.0));
  CHECK(corrected[2].reasons == MaskReason::correction_masked);
  CHECK(corrected[2].masked());
}

TEST_CASE("rl/rollout_correction: refused where pi_old/mu would enter twice, with the reason") {
  const CorrectionOptions tis = usual_correction(CorrectionKind::tis);
  for (const char* name : {"pg_is", "cispo", "dppo_tv", "dppo_kl", "drpo_tv", "cppo", "mini_rl",
                           "bad_update_mask", "relaxed_clip", "ipo", "ppo"}) {
    CAPTURE(name);
    const auto algorithm = make(name, {});
    CHECK_THROWS_WITH_AS(check_correction(name, algorithm->traits(), tis),
                         doctest::Contains("twice"), Error);
    CHECK_NOTHROW(check_correction(name, algorithm->traits(), CorrectionOptions{}));
  }
  for (const char* name : {"gspo", "gmpo", "sapo"}) {
    CHECK_NOTHROW(check_correction(name, make(name, {})->traits(), tis));
  }
  CHECK_NOTHROW(
      check_correction("ppo", make("ppo", {{"anchor", std::string("recomputed")}})->traits(), tis));
  CHECK_THROWS_AS(
      check_correction("gspo", make("gspo", {})->traits(), of(CorrectionKind::icepop, 0, 2, 1)),
      Error);
  CHECK_THROWS_AS(check_correction("gspo", make("gspo", {})->traits(), of(CorrectionKind::tis, 0)),
                  Error);
}

TEST_CASE("rl/rollout_correction: a NaN stays visible") {
  const std::vector<TokenInput> tokens{TokenInput::from_logs(-1, std::nan(""), 1, -1)};
  for (const std::string& name : correction_names()) {
    if (name == "none") {
      continue;
    }
    CHECK(std::isnan(correction_weights(usual_correction(correction_from_name(name)), tokens)[0]));
  }
}

TEST_CASE("rl/rollout_correction: names go both ways and a typo gets a suggestion") {
  for (const std::string& name : correction_names()) {
    CHECK(correction_name(correction_from_name(name)) == name);
  }
  CHECK_THROWS_WITH_AS(correction_from_name("icepops"), doctest::Contains("did you mean 'icepop'"),
                       Error);
}

}  // namespace minirl::rl::test
