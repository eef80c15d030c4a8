// The parity check agrees on a sound model, and finds and locates a fault that is planted in one.
#include "audit/parity.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "rl/model_support.h"

namespace minirl::audit {
namespace {

std::vector<std::vector<Token>> prompts(Index round, Index count) {
  std::vector<std::vector<Token>> out;
  rng::Random random(rng::Key::of(static_cast<std::uint64_t>(round), rng::Stream::test));
  const Index lengths[] = {3, 33, 1, 31};
  for (Index i = 0; i < count; ++i) {
    auto& ids = out.emplace_back();
    for (Index t = 0; t < lengths[i % 4]; ++t) {
      ids.push_back(static_cast<Token>(random.below(53)));
    }
  }
  return out;
}

ParityOptions options() {
  ParityOptions o;
  o.tokens = 1;  // one round
  o.group_size = 3;
  o.prompts = 4;
  o.tokens_per_micro = 256;
  o.sampling.temperature = 0.9;
  o.sampling.max_new_tokens = 24;
  o.sampling.max_batch = 5;
  o.sampling.stop_ids = {0, 1};
  return o;
}

const ParityAxis& axis(const ParityReport& report, const std::string& name) {
  for (const ParityAxis& a : report.axes) {
    if (a.name == name) {
      return a;
    }
  }
  FAIL("no axis " << name);
  return report.axes.front();
}

}  // namespace

TEST_CASE(
    "audit/parity: a sound model agrees on every axis, and rounds go on to the number asked") {
  const auto model = make_decoder(rl::test::tiny_model(), DType::f32, 3);
  const std::string before = model->params().hash();
  const Isa isa = active_isa();
  ParityOptions o = options();
  const ParityReport one = check_parity(*model, *model, prompts, o, {.threads = 2});
  CHECK(one.rounds == 1);
  CHECK(one.differing() == 0);
  CHECK(one.axes.size() == 10);
  for (const ParityAxis& a : one.axes) {
    CAPTURE(a.name);
    CHECK(a.compared > 0);
    CHECK(a.ulp_max == 0);
    CHECK_FALSE(a.first.has_value());
  }
  o.tokens = one.compared() + 1;
  const ParityReport two = check_parity(*model, *model, prompts, o, {.threads = 2});
  CHECK(two.rounds == 2);
  CHECK(two.compared() > one.compared());
  CHECK(two.differing() == 0);
  CHECK(model->params().hash() == before);
  CHECK(active_isa() == isa);
}

TEST_CASE(
    "audit/parity: one weight that changes between sampling and training is found and named") {
  const auto sampler = make_decoder(rl::test::tiny_model(), DType::f32, 3);
  for (const std::string name :
       {"model.layers.1.mlp.up_proj.weight", "model.layers.0.self_attn.k_norm.weight",
        "model.norm.weight", "model.layers.1.self_attn.v_proj.weight"}) {
    CAPTURE(name);
    const auto trainer = make_decoder(rl::test::tiny_model(), DType::f32, 3);
    Param* p = trainer->params().find(name);
    REQUIRE(p != nullptr);
    p->value.data<float>()[5] *= 1.001F;
    p->touch();
    const ParityReport report =
        check_parity(*sampler, *trainer, prompts, options(), {.threads = 2});
    CHECK(report.differing() > 0);
    CHECK(report.rounds == 1);
    const ParityAxis& a = axis(report, "batch size");
    REQUIRE(a.first.has_value());
    CHECK(a.ulp_max > 0);
    CHECK(a.first->op.find(name) != std::string::npos);
    CHECK(a.first->op_recorded != a.first->op_computed);
    if (name.find("proj") != std::string::npos) {  // input 5 of output 0
      CHECK(a.first->element == 0);
    } else {
      CHECK(a.first->element == 5);
    }
    CHECK(parity_text(report).find(name) != std::string::npos);
    // What the sampler does twice agrees: only ways through the trainer's weights differ.
    CHECK(axis(report, "prompt of a group").differing == 0);
    CHECK(axis(report, "sampled at once").differing == 0);
    CHECK(axis(report, "KV cache").differing > 0);
  }
}

TEST_CASE(
    "audit/parity: log-probabilities that sampling disturbs after the last op are told apart") {
  const auto model = make_decoder(rl::test::tiny_model(), DType::f32, 3);
  ParityOptions o = options();
  o.sampling.logit_noise = 1e-3;  // on every logit of the sampler alone
  const ParityReport report = check_parity(*model, *model, prompts, o, {.threads = 1});
  CHECK(report.differing() > 0);
  const ParityAxis& a = axis(report, "threads");
  REQUIRE(a.first.has_value());
  CHECK(a.first->op.empty());
  CHECK(a.first->words.find("recorded") != std::string::npos);
  const auto json = nlohmann::json::parse(parity_json(report));
  CHECK(json["differing"].get<Index>() == report.differing());
  CHECK(json["axes"].size() == report.axes.size());
}

}  // namespace minirl::audit
