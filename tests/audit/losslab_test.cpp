#include "audit/losslab.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "audit/explain.h"
#include "rl/algorithm_registry.h"
#include "rl/trainer.h"

namespace minirl::audit {
namespace {

rl::LoadedConfig config(const std::vector<std::string>& sets = {}) {
  std::vector<ConfigSource> sources = {ConfigSource::text("test.toml", R"(
[model]
hidden_size = 16
num_layers = 1
num_heads = 2
num_kv_heads = 1
head_dim = 8
ffn_size = 24
initializer_range = 0.5
[rollout]
group_size = 4
[algorithm]
name = "drpo"
delta = 0.2
)")};
  for (const auto& s : sets) { sources.push_back(ConfigSource::set(s)); }
  return rl::load_config(sources);
}

constexpr const char* kMutant = "test_mutant";

/// SPO's kind of loss with a derivative that forgot a factor of 2.
class Mutant final : public rl::TokenAlgorithm {
 public:
  Mutant() : TokenAlgorithm(traits_of()) {}
  static rl::Traits traits_of() {
    rl::Traits t;
    t.ratio_form = true;
    return t;
  }
  rl::TokenResult token(const rl::TokenInput& t) const override {
    const double r = t.rollout.ratio;
    rl::TokenResult out;
    out.ratio = r;
    out.loss = -t.advantage * r + (r - 1) * (r - 1);
    out.dlogp = -t.advantage * r + (r - 1) * r;
    out.weight = 1;
    return out;
  }
  rl::WeightRange weight_range() const override { return {}; }
};
const bool registered = rl::register_algorithm({.name = kMutant,
                                                .summary = "for this test",
                                                .formula = "",
                                                .page = "",
                                                .traits = Mutant::traits_of(),
                                                .params = {},
                                                .make = [](const ParamMap&) -> std::unique_ptr<rl::Algorithm> { return std::make_unique<Mutant>(); }});

std::vector<LabLoss> all_losses() {
  std::vector<LabLoss> out;
  for (const std::string& name : comparable_algorithms()) {
    if (name != kMutant) { out.push_back({name, name, {}}); }
  }
  return out;
}

LabBatch batch(const rl::LoadedConfig& loaded, Index drift = 3) {
  const auto tokenizer = data::byte_tokenizer();
  LabOptions options;
  options.prompts = 3;
  options.drift = drift;
  options.drift_lr = 3e-3;
  options.made_rewards = true;
  options.topk = 20;
  return make_lab_batch(rl::initial_model(loaded.config, *tokenizer), *tokenizer, loaded, options, {});
}

}  // namespace

TEST_CASE("audit/losslab: every loss' gradient through the model agrees with central differences") {
  const rl::LoadedConfig loaded = config();
  LabBatch b = batch(loaded);
  const std::string before = b.live->params().hash();
  const LabReport r = run_losslab(b, all_losses(), {});
  CHECK(b.live->params().hash() == before);
  int with_gradient = 0;
  int with_loss = 0;
  for (const LabResult& l : r.results) {
    CAPTURE(l.loss.label);
    CHECK(l.tokens.size() == r.tokens.size());
    CHECK(l.chain_error < 1e-4);
    if (!std::isnan(l.loss_error)) {
      CHECK(l.loss_error < kLabTolerance);
      ++with_loss;
    }
    with_gradient += l.gradient_norm > 0 ? 1 : 0;
  }
  CHECK(with_gradient >= 25);
  CHECK(with_loss >= 5);
}

TEST_CASE("audit/losslab: cosines, the weights of the losses, and one update's worth of equality") {
  LabBatch still = batch(config(), 0);
  const LabReport r = run_losslab(still, {{"pg_is", "pg_is", {}}, {"dppo_tv", "dppo_tv", {}}, {"drpo", "drpo", {{"delta", {0.2, "test"}}}}}, {});
  // Where nothing has moved all of them are the policy gradient.
  for (const LabResult& l : r.results) {
    CHECK(l.weight_min == 1);
    CHECK(l.weight_max == 1);
    CHECK(l.masked == 0);
    CHECK(l.gradient_norm == r.results[0].gradient_norm);
  }
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) { CHECK(r.cosine[a][b] == doctest::Approx(1).epsilon(1e-12)); }
  }
  CHECK(r.ratio_min == 1);
  CHECK(r.ratio_max == 1);
}

TEST_CASE("audit/losslab: a wrong derivative shows") {
  LabBatch b = batch(config());
  const LabReport r = run_losslab(b, {{"pg_is", "pg_is", {}}, {kMutant, kMutant, {}}}, {});
  CHECK(r.results[0].chain_error < 1e-4);
  CHECK(r.results[1].chain_error < 1e-4);  // the chain rule holds for any g ...
  CHECK(r.results[1].loss_error > 10 * kLabTolerance);  // ... but this g is not the derivative of the loss
}

TEST_CASE("audit/losslab: the outputs hold every token and every loss") {
  const rl::LoadedConfig loaded = config({"mismatch.weights=int8"});
  LabBatch b = batch(loaded);
  const auto losses = std::vector<LabLoss>{{"pg_is", "pg_is", {}}, {"ppo tight", "ppo", {{"clip_high", {0.01, "test"}}}}};
  const LabReport r = run_losslab(b, losses, {});
  const auto tokenizer = data::byte_tokenizer();
  const auto doc = nlohmann::json::parse(lab_json(r));
  CHECK(doc["losses"].size() == 2);
  CHECK(doc["tokens"].get<std::size_t>() == r.tokens.size());
  CHECK(doc["losses"][1]["masked_positive_fraction"].get<double>() > 0);
  const std::string csv = lab_csv(r, *tokenizer);
  CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == r.tokens.size() + 1);
  CHECK(csv.find("clipped_high") != std::string::npos);
  const std::string html = lab_html(r, *tokenizer);
  CHECK(html.find("http://") == std::string::npos);
  CHECK(html.find("ppo tight") != std::string::npos);
  CHECK(lab_text(r).find("ppo tight") != std::string::npos);
}

}  // namespace minirl::audit
