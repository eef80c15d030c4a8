#include "audit/explain.h"

#include <doctest/doctest.h>

#include <cmath>

#include <nlohmann/json.hpp>

namespace minirl::audit {
namespace {

ParamMap delta(double d) { return {{"delta", {d, "test"}}}; }
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("audit/explain: the token of the README, in numbers") {
  const Explanation e = explain("drpo", delta(0.2), {parse_token("mu=0.3,pi=0.5,A=1")});
  CHECK(e.results[0].weight == 0);
  CHECK(e.results[0].dlogp == doctest::Approx(0).epsilon(1e-12));
  CHECK(e.boundaries[0]->lower == doctest::Approx(0.1));
  CHECK(e.boundaries[0]->upper == doctest::Approx(0.5));
  const std::string text = explanation_text(e);
  for (const char* part : {"drpo.1", "1.66667", "further away from mu", "docs/algorithms/drpo.md", "drpo_paper", "dppo_tv", "gspo"}) { CHECK_MESSAGE(contains(text, part), part); }
  CHECK(e.others[0].size() == comparable_algorithms().size());  // drpo itself needs a delta, so it is not among them
}

TEST_CASE("audit/explain: the decision is that of the loss, for every loss, and JSON says the same") {
  for (const std::string& name : comparable_algorithms()) {
    for (const char* token : {"mu=0.3,pi=0.6,A=1", "mu=0.3,pi=0.6,A=-1", "mu=0.9,pi=0.2,A=-2", "mu=0.01,pi=0.05,A=1", "mu=0.5,pi=0.5,A=0"}) {
      CAPTURE(name);
      CAPTURE(token);
      const Explanation e = explain(name, {}, {parse_token(token)});
      const auto doc = nlohmann::json::parse(explanation_json(e));
      const auto& result = doc["tokens"][0]["result"];
      CHECK(result["weight"].get<double>() == e.results[0].weight);
      CHECK(result["masked"].get<bool>() == e.results[0].masked());
      const std::string decision = doc["tokens"][0]["decision"];
      CHECK(contains(decision, "masked:") == (e.results[0].masked() && e.inputs[0].advantage != 0));
      CHECK_FALSE(explanation_text(e).empty());
      for (const auto& row : e.others[0]) {
        const Explanation other = explain(row.name, {}, {parse_token(token)});
        CHECK(other.results[0].dlogp == row.result.dlogp);
      }
    }
  }
}

TEST_CASE("audit/explain: Top-K sees what Binary does not") {
  const Explanation e = explain("dppo_topk_tv", {}, {parse_token("mu=0.08,pi=0.085,A=1", "0.45:0.84,0.45:0.05")});
  CHECK(e.results[0].masked());
  CHECK(e.inputs[0].rollout.topk_tv == doctest::Approx(0.4));
  CHECK_FALSE(explain("dppo_tv", {}, {parse_token("mu=0.08,pi=0.085,A=1", "0.45:0.84,0.45:0.05")}).results[0].masked());
}

TEST_CASE("audit/explain: several tokens are one sequence") {
  const auto tokens = {parse_token("mu=0.5,pi=0.5001,A=1"), parse_token("mu=0.5,pi=0.6,A=1")};
  const Explanation e = explain("gspo", {}, tokens);
  CHECK(e.results[0].masked());
  CHECK(e.results[1].masked());
  CHECK_FALSE(explain("gspo", {}, {parse_token("mu=0.5,pi=0.5001,A=1")}).results[0].masked());
}

TEST_CASE("audit/explain: what cannot be a token is refused with the place and an example") {
  for (const char* bad : {"", "mu=0.3", "mu=0.3,pi=0.5", "mu=0,pi=0.5,A=1", "mu=1.5,pi=0.5,A=1", "mu=0.3,pi=x,A=1", "mu=0.3,pi=0.5,A=nan", "mu=0.3,pi=0.5,B=1", "mu=0.3;pi=0.5;A=1", "mu=-0.1,pi=0.5,A=1", "mu=0.3,pi=0.5,A=inf"}) {
    CAPTURE(bad);
    try {
      parse_token(bad);
      FAIL("accepted");
    } catch (const Error& e) {
      CHECK(e.code() == Exit::usage);
      CHECK(contains(e.what(), "hint"));
    }
  }
  CHECK_THROWS_AS(parse_token("mu=0.6,pi=0.5,A=1", "0.5:0.1"), Error);  // more than 1 in all
  CHECK_THROWS_AS(parse_token("mu=0.6,pi=0.5,A=1", "0.2"), Error);
  CHECK_THROWS_AS(explain("drpo", {}, {parse_token("mu=0.3,pi=0.5,A=1")}), Error);
  CHECK_THROWS_AS(explain("dropo", delta(1), {parse_token("mu=0.3,pi=0.5,A=1")}), Error);
  CHECK_THROWS_AS(explain("drpo", delta(1), {}), Error);
}

}  // namespace minirl::audit
