#include "rl/config.h"

#include <doctest/doctest.h>

#include "core/files.h"
#include "model/decoder.h"
#include "rl/plan.h"

namespace minirl::rl {
namespace {

LoadedConfig load(const std::vector<std::string>& sets,
                  const std::string& toml = "[algorithm]\nname = \"drpo\"\ndelta = 0.2\n") {
  std::vector<ConfigSource> sources = {ConfigSource::text("t.toml", toml)};
  for (const auto& s : sets) {
    sources.push_back(ConfigSource::set(s));
  }
  return load_config(sources);
}

std::string value(const LoadedConfig& c, const std::string& key) {
  for (const auto& k : c.keys) {
    if (k.key == key) {
      return k.toml;
    }
  }
  return "?";
}

}  // namespace

TEST_CASE("rl/config: the resolved document resolves to the same configuration") {
  const LoadedConfig first = load({"train.max_grad_norm=off", "train.lr=0.00030000000000000003",
                                   "task.fraction_wrong=0.1", "algorithm.delta=0.17"});
  const LoadedConfig second = load_config({ConfigSource::text("r.toml", first.resolved_toml())});
  CHECK(first.hash() == second.hash());
  CHECK(first.results_hash() == second.results_hash());
  REQUIRE(first.keys.size() == second.keys.size());
  for (std::size_t i = 0; i < first.keys.size(); ++i) {
    CHECK(first.keys[i].key == second.keys[i].key);
    CHECK(first.keys[i].toml == second.keys[i].toml);
  }
  CHECK(second.config.train.max_grad_norm == kOff);
}

TEST_CASE(
    "rl/config: a preset sets what its source uses, and warns where the user wrote otherwise") {
  const std::string plain = "[algorithm]\nname = \"grpo\"\n";
  const LoadedConfig preset = load({}, plain);
  CHECK(preset.config.algorithm.loss_agg_mode == "seq-mean-token-mean");
  CHECK(preset.config.algorithm.normalize_adv_by_std);
  CHECK(preset.origin("algorithm.loss_agg_mode") == "preset grpo");
  CHECK(preset.warnings.empty());
  const LoadedConfig other = load({}, plain + "loss_agg_mode = \"token-mean\"\n");
  CHECK(other.config.algorithm.loss_agg_mode == "token-mean");
  REQUIRE(other.warnings.size() == 1);
  CHECK(other.warnings[0].find("t.toml:3") != std::string::npos);
  CHECK(other.warnings[0].find("seq-mean-token-mean") != std::string::npos);
  // Written out, the preset's choices resolve to the same run.
  CHECK(load_config({ConfigSource::text("r.toml", preset.resolved_toml())}).hash() ==
        preset.hash());
}

TEST_CASE("rl/config: only keys that change results may not change on resume") {
  const LoadedConfig before = load({});
  CHECK(differences_on_resume(before, before).empty());
  CHECK(differences_on_resume(
            before, load({"runtime.threads=2", "eval.every=7", "checkpoint.keep=9",
                          "train.tokens_per_micro=512", "rollout.max_batch=3", "run.name=x"}))
            .empty());
  const LoadedConfig constant = load({"train.lr_schedule=constant"});
  const LoadedConfig further = load({"train.lr_schedule=constant", "train.steps=7"});
  CHECK(differences_on_resume(constant, further).empty());
  CHECK(constant.results_hash() == further.results_hash());
  for (const char* set :
       {"train.lr=0.1", "run.seed=2", "algorithm.delta=0.3", "rollout.group_size=4",
        "task.max_operand=50", "pretrain.steps=1", "model.ffn_size=8"}) {
    CAPTURE(set);
    std::vector<std::string> sets = {set};
    if (std::string(set) == "pretrain.steps=1") {
      sets.emplace_back("pretrain.warmup_steps=0");
    }
    const LoadedConfig now = load(sets);
    CHECK(differences_on_resume(before, now).size() >= 1);
    CHECK(before.results_hash() != now.results_hash());
  }
  const LoadedConfig cosine = load({"train.lr_schedule=cosine"});
  const LoadedConfig longer = load({"train.lr_schedule=cosine", "train.steps=7"});
  CHECK(differences_on_resume(cosine, longer).size() == 1);
  CHECK(cosine.results_hash() != longer.results_hash());
}

TEST_CASE("rl/config: legal but doubtful settings are warnings") {
  const auto warns = [](const std::vector<std::string>& sets, const char* part) {
    for (const auto& w : load(sets).warnings) {
      if (w.find(part) != std::string::npos) {
        return true;
      }
    }
    return false;
  };
  CHECK(load({}).warnings.empty());
  CHECK(warns({"rollout.group_size=1", "train.updates_per_rollout=1"}, "a group of one"));
  CHECK(warns({"pretrain.steps=0", "pretrain.warmup_steps=0"}, "random weights"));
}

TEST_CASE(
    "rl/config: docs/formats.md tells every key, its default, what it accepts and its meaning") {
  const std::string page = read_file(std::string(MINIRL_SOURCE_DIR) + "/docs/formats.md");
  for (const auto& k : load({}).keys) {
    const std::string value = k.origin == "default" ? k.toml : "none";
    const std::string row =
        fmt::format("| `{}` | `{}` | {} | {}{} |", k.key.substr(k.key.find('.') + 1), value,
                    k.accepts, k.doc, k.changes_results ? "" : " (*)");
    CHECK_MESSAGE(page.find(row) != std::string::npos, k.key << " should have the row: " << row);
  }
}

TEST_CASE("rl/plan: the number of parameters is that of the model") {
  for (const bool tied : {true, false}) {
    ModelConfig shape;
    shape.vocab_size = 261;
    shape.hidden_size = 24, shape.num_layers = 3, shape.num_heads = 6, shape.num_kv_heads = 2,
    shape.head_dim = 10, shape.ffn_size = 40;
    shape.tie_word_embeddings = tied;
    const auto model = make_decoder(shape, DType::f32, 1);
    Index n = 0;
    for (auto& p : model->params().all()) {
      n += p.value.numel();
    }
    CHECK(parameter_count(shape) == n);
  }
}

TEST_CASE("rl/plan: the sheet counts what a step and the run do") {
  const Plan p = make_plan(load({"rollout.prompts_per_step=6", "rollout.group_size=4",
                                 "train.updates_per_rollout=3", "train.steps=5"}));
  CHECK(p.completions_per_step == 24);
  CHECK(p.completions_per_update == 8);
  CHECK(p.updates == 15);
  CHECK(p.completions == 120);
  CHECK(value(load({"train.steps=5"}), "train.steps") == "5");
  const std::string text = plan_text(p);
  for (const char* part :
       {"6 prompts -> 24 completions -> 3 optimizer updates of 8 completions each",
        "every ratio is exactly 1", "can be reached", "horizon 48"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  }
  CHECK(value(load({}), "nothing") == "?");
}

}  // namespace minirl::rl
