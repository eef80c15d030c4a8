// What every registered loss promises, whatever its formula.
#include <limits>

#include <doctest/doctest.h>

#include "core/fmath.h"
#include "rl/presets.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

Settings mandatory(const AlgorithmInfo& info) {
  Settings out;
  for (const auto& spec : info.params) {
    if (!spec.fallback) {
      out[spec.name] = 0.2;
    }
  }
  return out;
}

struct Sequence {
  std::vector<float> logp, logp_rollout, logp_recomputed, topk, topk_rollout, topk_recomputed;
  std::vector<std::uint8_t> mask, has_sampled;
  double advantage = 1;
  SequenceView view() const {
    SequenceView v;
    v.logp = logp;
    v.logp_rollout = logp_rollout;
    v.logp_recomputed = logp_recomputed;
    v.loss_mask = mask;
    v.advantage = advantage;
    v.topk = topk.empty() ? 0 : 2;
    v.topk_logp = topk;
    v.topk_logp_rollout = topk_rollout;
    v.topk_logp_recomputed = topk_recomputed;
    v.topk_has_sampled = has_sampled;
    return v;
  }
};

/// A sequence of T tokens whose three policies differ by up to `spread` nats.
Sequence make_sequence(int length, double spread, double advantage, std::uint64_t seed) {
  Random random(seed);
  Sequence s;
  s.advantage = advantage;
  for (int t = 0; t < length; ++t) {
    const double log_mu = random.between(-4, -0.1);
    const auto near_mu = [&] {
      return static_cast<float>(std::fmin(log_mu + random.between(-spread, spread), 0));
    };
    s.logp_rollout.push_back(static_cast<float>(log_mu));
    s.logp.push_back(near_mu());
    s.logp_recomputed.push_back(near_mu());
    for (int k = 0; k < 2; ++k) {
      const double top = -1.5 - k;
      s.topk_rollout.push_back(static_cast<float>(top));
      s.topk.push_back(static_cast<float>(top + random.between(-spread, spread)));
      s.topk_recomputed.push_back(static_cast<float>(top + random.between(-spread, spread)));
    }
    s.has_sampled.push_back(0);
    s.mask.push_back(random.below(4) == 0 ? 0 : 1);
  }
  return s;
}

std::vector<TokenResult> run(const Algorithm& algorithm, const Sequence& s) {
  std::vector<TokenResult> out(s.logp.size());
  algorithm.evaluate(s.view(), out);
  return out;
}

}  // namespace

TEST_CASE("rl/algorithm: every loss and preset can be built and describes itself") {
  CHECK(Algorithms::names().size() >= 6);
  for (const std::string& name : algorithm_names()) {
    CAPTURE(name);
    const AlgorithmInfo info = algorithm_info(name);
    const auto algorithm = make(name, mandatory(info));
    CHECK(algorithm->name() == name);
    CHECK_FALSE(info.summary.empty());
    CHECK_FALSE(info.formula.empty());
    CHECK_FALSE(algorithm->weight_range().words.empty());
    const std::string page = std::string(MINIRL_SOURCE_DIR) + "/docs/algorithms/" + info.page;
    CHECK_MESSAGE(std::filesystem::exists(page), page);
    for (const auto& spec : info.params) {
      CAPTURE(spec.name);
      CHECK_FALSE(spec.doc.empty());
    }
  }
}

TEST_CASE(
    "rl/algorithm: equal log-probabilities give ratio 1 and the plain policy gradient, exactly") {
  for (const std::string& name : Algorithms::names()) {
    CAPTURE(name);
    const auto algorithm = make(name, mandatory(algorithm_info(name)));
    for (const double advantage : {0.6, -0.4}) {
      Sequence s = make_sequence(33, 0, advantage, 3);
      s.mask.clear();
      s.logp = s.logp_rollout;
      s.logp_recomputed = s.logp_rollout;
      s.topk = s.topk_recomputed = s.topk_rollout;
      for (const TokenResult& r : run(*algorithm, s)) {
        CHECK(same_bits(r.ratio, 1.0));
        CHECK(r.divergence == 0);
        CHECK_FALSE(r.masked());
        if (!algorithm->traits().sequence_level) {
          CHECK(r.weight == 1);
          CHECK(same_bits(r.dlogp, -advantage));
        }
      }
    }
  }
}

TEST_CASE(
    "rl/algorithm: a token that the loss mask leaves out has loss and gradient 0 and changes no "
    "other token") {
  for (const std::string& name : Algorithms::names()) {
    CAPTURE(name);
    const auto algorithm = make(name, mandatory(algorithm_info(name)));
    const Sequence s = make_sequence(40, 0.5, -0.7, 4);
    Sequence other = s;
    for (std::size_t t = 0; t < s.mask.size(); ++t) {
      if (s.mask[t] == 0) {
        other.logp[t] = -0.5F;
      }
    }
    const auto a = run(*algorithm, s);
    const auto b = run(*algorithm, other);
    for (std::size_t t = 0; t < s.mask.size(); ++t) {
      if (s.mask[t] == 0) {
        CHECK(same_bits(a[t].loss, 0.0));
        CHECK(same_bits(a[t].dlogp, 0.0));
        CHECK(a[t].reasons == MaskReason::loss_mask);
      } else if (!algorithm->traits().sequence_level) {
        CHECK(same_bits(a[t].dlogp, b[t].dlogp));
      }
    }
  }
}

TEST_CASE("rl/algorithm: zero advantage gives exactly zero gradient") {
  for (const std::string& name : Algorithms::names()) {
    CAPTURE(name);
    const auto algorithm = make(name, mandatory(algorithm_info(name)));
    Sequence s = make_sequence(20, 1, 0, 5);
    s.mask.clear();
    for (const TokenResult& r : run(*algorithm, s)) {
      CHECK(r.dlogp == 0);
      CHECK(r.loss == 0);
      CHECK((r.reasons & MaskReason::zero_advantage) != 0);
    }
  }
}

TEST_CASE("rl/algorithm: a log-probability above 0 by rounding makes no NaN") {
  for (const std::string& name : Algorithms::names()) {
    CAPTURE(name);
    const auto algorithm = make(name, mandatory(algorithm_info(name)));
    for (const float above : {0.0F, 1e-7F, 1e-6F}) {
      for (const double advantage : {1.0, -1.0}) {
        Sequence s = make_sequence(4, 0.1, advantage, 6);
        s.mask.clear();
        s.logp[0] = above;
        s.logp_rollout[1] = s.logp_recomputed[1] = above;
        s.logp[2] = s.logp_rollout[2] = s.logp_recomputed[2] = above;
        s.logp[3] = -80.0F;
        for (const TokenResult& r : run(*algorithm, s)) {
          CHECK(std::isfinite(r.loss));
          CHECK(std::isfinite(r.dlogp));
          CHECK(std::isfinite(r.divergence));
        }
      }
    }
  }
}

TEST_CASE("rl/algorithm: a NaN log-probability never becomes a silent zero") {
  for (const std::string& name : Algorithms::names()) {
    CAPTURE(name);
    const auto algorithm = make(name, mandatory(algorithm_info(name)));
    for (const double advantage : {1.0, -1.0}) {
      Sequence s = make_sequence(3, 0.1, advantage, 7);
      s.mask.clear();
      s.logp[1] = std::numeric_limits<float>::quiet_NaN();
      const auto results = run(*algorithm, s);
      CHECK(std::isnan(results[1].dlogp));
      CHECK(std::isnan(results[1].loss));
    }
  }
}

TEST_CASE("rl/algorithm: one advantage a token may be given instead of one a sequence") {
  const auto algorithm = make("pg_is", {});
  Sequence s = make_sequence(3, 0, 9, 8);
  s.mask.clear();
  SequenceView view = s.view();
  const std::vector<double> advantages{1, -2, 0.5};
  view.token_advantages = advantages;
  view.logp = view.logp_rollout;
  std::vector<TokenResult> results(3);
  algorithm->evaluate(view, results);
  for (std::size_t t = 0; t < 3; ++t) {
    CHECK(results[t].dlogp == -advantages[t]);
  }
}

TEST_CASE("rl/algorithm: a missing anchor is our fault and says which") {
  const auto algorithm = make("ppo", {{"anchor", std::string("recomputed")}});
  CHECK(algorithm->traits().needs_recomputed);
  Sequence s = make_sequence(3, 0.1, 1, 9);
  s.logp_recomputed.clear();
  std::vector<TokenResult> results(3);
  CHECK_THROWS_WITH_AS(algorithm->evaluate(s.view(), results), doctest::Contains("logp_recomputed"),
                       Error);
}

TEST_CASE("rl/algorithm: the anchor decides what the ratio is measured from") {
  const TokenInput token = TokenInput::from_probabilities(.5, .4, 1, .45);
  CHECK(evaluate_one(*make("ppo", {}), token).ratio == .5 / .4);
  CHECK(evaluate_one(*make("ppo", {{"anchor", std::string("recomputed")}}), token).ratio ==
        .5 / .45);
}

TEST_CASE("rl/algorithm: every reason bit has a name and words") {
  for (std::uint32_t bit : {MaskReason::loss_mask,
                            MaskReason::zero_advantage,
                            MaskReason::clipped_high,
                            MaskReason::clipped_low,
                            MaskReason::dual_clip,
                            MaskReason::divergence_positive,
                            MaskReason::divergence_negative,
                            MaskReason::bad_update,
                            MaskReason::divergence_any_sign,
                            MaskReason::budget_token,
                            MaskReason::budget_prefix,
                            MaskReason::sequence_clipped,
                            MaskReason::correction_masked,
                            MaskReason::saturated,
                            MaskReason::outside_upper,
                            MaskReason::outside_lower,
                            MaskReason::capped,
                            MaskReason::floored,
                            MaskReason::relaxed,
                            MaskReason::corrective}) {
    CHECK_FALSE(reason_name(bit).empty());
    CHECK_FALSE(reason_words(bit).empty());
    CHECK(explain_reasons(bit).size() == 1);
  }
  CHECK(explain_reasons(MaskReason::divergence_positive).front() ==
        "masked: A > 0, the probability is above its anchor (moving away) and D > delta");
  CHECK(explain_reasons(MaskReason::clipped_low | MaskReason::outside_lower).size() == 2);
}

TEST_CASE("rl/algorithm: parameters are checked strictly and the message says what to do") {
  const auto message = [](const std::string& name, const Settings& params) {
    try {
      make(name, params);
    } catch (const Error& e) {
      CHECK(e.code() == Exit::usage);
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string text = message("drpo", {});
  CHECK(contains(text, "'delta'"));
  CHECK(contains(text, "0.2"));
  text = message("drpo", {{"detla", .2}});
  CHECK(contains(text, "unknown parameter 'detla'"));
  CHECK(contains(text, "did you mean 'delta'"));
  CHECK(contains(message("drpo", {{"delta", 0.}}), "above 0"));
  CHECK(contains(message("drpo", {{"delta", -1.}}), "must be a number above 0"));
  CHECK(contains(message("drpo", {{"delta", std::nan("")}}), "must be a number above 0"));
  CHECK(contains(message("drpo", {{"delta", kInfinity}}), "must be a number above 0"));
  CHECK(contains(message("drpo", {{"delta", std::string("0.2")}}), "must be a number above 0"));
  CHECK(contains(message("drpo", {{"delta", true}}), "must be a number above 0"));
  CHECK(contains(message("ppo", {{"clip_low", 1.5}}), "from 0 to 1"));
  CHECK(contains(message("ppo", {{"anchor", std::string("recompute")}}),
                 "did you mean \"recomputed\""));
  CHECK(contains(message("dprpo", {}), "did you mean"));
  CHECK(contains(message("pg_is", {{"delta", .2}}), "unknown parameter"));
  CHECK(message("drpo", {{"delta", std::int64_t{1}}}) == "accepted");  // an integer is a number
  CHECK(message("ppo", {{"dual_clip", kInfinity}}) == "accepted");     // inf switches it off
}

TEST_CASE("rl/presets: a preset is its loss with other defaults, and the user's value wins") {
  const TokenInput token = TokenInput::from_probabilities(.75, .5, 1);
  const TokenResult preset = evaluate_one(*make("drpo_paper", {}), token);
  const TokenResult direct = evaluate_one(*make("drpo", {{"delta", 12.5}}), token);
  CHECK(same_bits(preset.dlogp, direct.dlogp));
  const TokenResult overridden = evaluate_one(*make("drpo_paper", {{"delta", .2}}), token);
  CHECK(same_bits(overridden.dlogp, evaluate_one(*make("drpo_tv", {}), token).dlogp));
  for (const Preset& p : presets()) {
    CAPTURE(p.name);
    CHECK(Algorithms::contains(p.loss));
    CHECK_FALSE(Algorithms::contains(p.name));
  }
}

TEST_CASE("rl/algorithm: the stated boundary is where the loss changes its mind") {
  for (const std::string& name : Algorithms::names()) {
    const auto algorithm = make(name, mandatory(algorithm_info(name)));
    for (const double mu : {0.3, 0.55}) {
      const auto bounds = algorithm->boundary(mu);
      if (!bounds) {
        continue;
      }
      CAPTURE(name);
      const auto weight = [&](double pi, double advantage) {
        return evaluate_one(*algorithm, TokenInput::from_probabilities(pi, mu, advantage, mu))
            .weight;
      };
      if (bounds->upper < 1) {
        CHECK(weight(bounds->upper + 1e-7, 1) <= 0);
        CHECK(weight(bounds->upper - 1e-7, 1) > 0);
      }
      if (bounds->lower > 0) {
        CHECK(weight(bounds->lower - 1e-7, -1) <= 0);
        CHECK(weight(bounds->lower + 1e-7, -1) > 0);
      }
    }
  }
}

}  // namespace minirl::rl::test
