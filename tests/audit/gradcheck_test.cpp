// The gradient check passes on what is right, and finds and names what is planted wrong.
#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "audit/gradcheck_model.h"
#include "data/tokenizer.h"
#include "rl/algorithm_registry.h"
#include "rl/model_support.h"
#include "rl/trainer_support.h"

namespace minirl::audit {
namespace {

using rl::test::config;

// y = x, but the gradient comes back with the wrong sign.
Var negated(Tape& tape, const Var& x) {
  return tape.record("negated", x.value.clone(tape.exec()), {x},
                     [](Tensor dout, std::span<GradSlot> in) {
                       for (double& d : dout.span<double>()) {
                         d = -d;
                       }
                       in[0].add(std::move(dout));
                     });
}

// Embedding, two linear layers with a residual each, norm, head. With a fault between the layers.
class Chain final : public Decoder {
 public:
  Chain(const ModelConfig& c, bool fault) : Decoder(c, DType::f64, make_params(c)), fault_(fault) {}
  Var hidden(const Pass& pass, const Ragged& batch) override {
    Tape& t = pass.tape;
    const Var x = ops::embedding(t, {at(0)}, batch.ids);
    const Var first = ops::linear(t, x, {at(1)});
    const Var y = ops::add(t, x, first);
    const Var middle = fault_ ? negated(t, y) : y;
    const Var second = ops::linear(t, middle, {at(2)});
    return ops::add(t, middle, second);
  }
  Var head_input(const Pass& pass, const Var& h, const Tensor& rows) override {
    const Var some = ops::gather_rows(pass.tape, h, rows);
    return ops::rmsnorm(pass.tape, some, {at(3)}, 1e-6);
  }
  ParamUse head() override { return {at(4)}; }

 private:
  static Params make_params(const ModelConfig& c) {
    const Index D = c.hidden_size;
    const std::vector<WeightSpec> specs = {
        {"model.embed_tokens.weight", {c.vocab_size, D}, WeightSpec::Start::normal},
        {"model.layers.0.a.weight", {D, D}, WeightSpec::Start::normal},
        {"model.layers.1.b.weight", {D, D}, WeightSpec::Start::normal},
        {"model.norm.weight", {D}, WeightSpec::Start::ones},
        {"lm_head.weight", {c.vocab_size, D}, WeightSpec::Start::normal}};
    return Params::random(specs, DType::f64, 0.3, 7);
  }
  Param* at(std::size_t i) { return &params_.all().at(i); }
  bool fault_;
};

// A loss whose derivative is not that of its value, for tokens of negative advantage.
class Crooked final : public rl::TokenAlgorithm {
 public:
  explicit Crooked(bool fault) : TokenAlgorithm(traits()), fault_(fault) {}
  rl::TokenResult token(const rl::TokenInput& t) const override {
    rl::TokenResult r;
    r.ratio = t.rollout.ratio;
    r.loss = -t.advantage * r.ratio;
    r.dlogp = fault_ && t.advantage < 0 ? -r.loss : r.loss;
    return r;
  }
  rl::WeightRange weight_range() const override { return {}; }

 private:
  static rl::Traits traits() {
    rl::Traits t;
    t.ratio_form = true;
    return t;
  }
  bool fault_;
};

// Two groups of two completions, with log mu near to what the model says.
struct Batch {
  std::vector<rl::Group> groups;
  std::vector<rl::TrainItem> items;
  Batch() {
    rng::Random random(rng::Key::of(3, rng::Stream::test));
    for (int g = 0; g < 2; ++g) {
      rl::Group& group = groups.emplace_back();
      for (int i = 0; i < 3; ++i) {
        group.prompt.push_back(static_cast<Token>(random.below(53)));
      }
      for (int s = 0; s < 2; ++s) {
        rl::Rollout& r = group.rollouts.emplace_back();
        for (int i = 0; i < 4 + s; ++i) {
          r.ids.push_back(static_cast<Token>(random.below(53)));
          r.logp.push_back(static_cast<float>(-4 + 0.2 * random.normal()));
        }
        r.advantage = s == 0 ? 0.5 : -0.75;
      }
    }
    for (const rl::Group& g : groups) {
      for (const rl::Rollout& r : g.rollouts) {
        items.push_back({&g, &r});
      }
    }
  }
};

const GradRow& row(const std::vector<GradRow>& rows, const std::string& name) {
  for (const GradRow& r : rows) {
    if (r.name == name) {
      return r;
    }
  }
  FAIL("no row " << name);
  return rows.front();
}

std::vector<GradRow> check(Decoder& model, const rl::Algorithm& algorithm, const Batch& batch,
                           const rl::LossOptions& loss = {}) {
  LossProblem p;
  p.model = &model;
  p.algorithm = &algorithm;
  p.items = batch.items;
  p.loss = loss;
  return check_loss(p, {}, {});
}

}  // namespace

TEST_CASE("audit/gradcheck: an op with a backward of the wrong sign is caught and named") {
  Tensor x = Tensor::empty({3, 4}, DType::f64);
  for (Index i = 0; i < 12; ++i) {
    x.data<double>()[i] = 0.1 * static_cast<double>(i);
  }
  const auto wrong =
      check_op("negated", [](Tape& t, std::span<const Var> in) { return negated(t, in[0]); },
               {x.clone()}, {}, {});
  CHECK(wrong.worst > 1.9);  // -g for g
  CHECK(wrong.where.find("input 0") == 0);
  const auto right = check_op("view",
                              [](Tape& t, std::span<const Var> in) {
                                return ops::view(t, in[0], {4, 3});
                              },
                              {x.clone()}, {}, {});
  CHECK(right.worst < 1e-8);
  GradReport report;
  report.threshold = GradOptions{}.threshold;
  report.rows = {right, wrong};
  CHECK_FALSE(report.passed());
  CHECK(report.diagnosis().find("op negated is wrong") != std::string::npos);
}

TEST_CASE("audit/gradcheck: a fault inside of a model is located between two parameters") {
  const Batch batch;
  const Crooked loss(false);
  for (const bool fault : {false, true}) {
    CAPTURE(fault);
    Chain model(rl::test::tiny_model(false), fault);
    GradReport report;
    report.threshold = GradOptions{}.threshold;
    report.rows = check(model, loss, batch);
    CHECK(report.passed() == !fault);
    if (fault) {
      // Upstream of the fault everything is wrong, downstream nothing.
      CHECK(row(report.rows, "model.embed_tokens.weight").worst > 0.1);
      CHECK(row(report.rows, "model.layers.0.a.weight").worst > 1);
      CHECK(row(report.rows, "model.layers.1.b.weight").worst < 1e-6);
      CHECK(row(report.rows, "lm_head.weight").worst < 1e-6);
      const std::string words = report.diagnosis();
      CHECK(words.find("model.layers.0.a.weight is the last") != std::string::npos);
      CHECK(words.find("model.layers.1.b.weight the first right") != std::string::npos);
      std::vector<std::string> unchecked;
      check_ops(model, {{1, 2, 3}}, 1, 0, {}, unchecked);
      REQUIRE(unchecked.size() == 1);
      CHECK(unchecked[0] == "negated");
    }
  }
}

TEST_CASE("audit/gradcheck: a loss whose derivative is not that of its value is told") {
  const Batch batch;
  Chain model(rl::test::tiny_model(false), false);
  const Crooked loss(true);
  GradReport report;
  report.threshold = GradOptions{}.threshold;
  report.rows = check(model, loss, batch);
  CHECK(row(report.rows, ", per token").worst > 0.5);
  CHECK(row(report.rows, "model.layers.0.a.weight").worst < 1e-6);  // the model is right
  CHECK(report.diagnosis().find("derivative that the loss") != std::string::npos);
}

TEST_CASE("audit/gradcheck: kinks are counted, not hidden and not called wrong") {
  Batch batch;
  Chain model(rl::test::tiny_model(false), false);
  const auto ppo = rl::make_algorithm("ppo", {});
  // log pi - log mu at the edge of the clip for one token: its loss has no derivative there.
  const auto first = check(model, *ppo, batch);
  CHECK(row(first, "ppo, per token").worst < 1e-6);
  Tape tape(false, {});
  std::vector<Token> ids(batch.groups[0].prompt);
  ids.push_back(batch.groups[0].rollouts[0].ids[0]);
  const std::vector<std::span<const Token>> spans = {std::span(ids).first(3)};
  const std::int32_t last = 2;
  const std::int32_t target = ids[3];
  const Var logp = model.token_logp({tape, nullptr}, pack_sequences(spans, {}),
                                    Tensor::from<std::int32_t>({1}, std::span(&last, 1)),
                                    Tensor::from<std::int32_t>({1}, std::span(&target, 1)), {});
  const double edge = logp.value.data<double>()[0] - std::log(1.2);  // clip_high = 0.2, A > 0
  batch.groups[0].rollouts[0].logp[0] = static_cast<float>(edge);
  const auto second = check(model, *ppo, batch);
  CHECK(row(second, "ppo, per token").kinks == row(first, "ppo, per token").kinks + 1);
  CHECK(row(second, "ppo, per token").worst < 1e-6);
  CHECK(row(second, "ppo, through the model").kinks > 0);
  for (const GradRow& r : second) {
    CHECK(r.worst < 1e-6);
  }
}

TEST_CASE("audit/gradcheck: whole configurations pass: losses, penalties, entropy, tied heads") {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {},
           {"algorithm.name=drpo", "algorithm.delta=0.2", "algorithm.entropy_coef=0.01",
            "algorithm.kl_coef=0.1"},
           {"algorithm.name=ppo", "model.tie_word_embeddings=false", "rollout.temperature=0.8"},
           {"algorithm.name=gspo", "algorithm.loss_agg_mode=seq-mean-token-mean",
            "model.family=qwen2"},
           {"algorithm.name=dppo_topk_tv"},
           {"algorithm.name=gmpo", "algorithm.loss_agg_mode=seq-mean-token-mean"},
           {"algorithm.name=sapo"},
           {"algorithm.name=ipo"}}) {
    CAPTURE(sets.empty() ? std::string("pg_is") : sets[0]);
    rl::LoadedConfig loaded = config(sets);
    loaded.config.rollout.max_new_tokens = 6;
    loaded.config.rollout.group_size = 4;
    const auto tokenizer = rl::open_tokenizer(loaded.config);
    LabOptions lab;
    lab.prompts = 1;
    lab.made_rewards = true;
    lab.drift_lr = 0.01;
    const Exec exec{.threads = 2};
    LabBatch batch =
        make_lab_batch(rl::initial_model(loaded.config, *tokenizer), *tokenizer, loaded, lab, exec);
    const std::string weights = batch.live->params().hash();
    const GradReport report = check_gradients(batch, loaded, {.coordinates = 2}, exec);
    for (const GradRow& r : report.rows) {
      CAPTURE(r.name);
      CAPTURE(r.where);
      CAPTURE(r.analytic);
      CAPTURE(r.numeric);
      CHECK(r.worst < report.threshold);
      CHECK(r.coordinates + r.kinks > 0);
    }
    CHECK(report.passed());
    CHECK(report.unchecked.empty());
    CHECK(report.diagnosis().empty());
    CHECK(batch.live->params().hash() == weights);
    const auto json = nlohmann::json::parse(gradcheck_json(report));
    CHECK(json["passed"].get<bool>());
    CHECK(json["rows"].size() == report.rows.size());
    CHECK(gradcheck_text(report).find("every gradient agrees") != std::string::npos);
  }
}

}  // namespace minirl::audit
