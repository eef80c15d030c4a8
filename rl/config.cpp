#include "rl/config.h"

#include <algorithm>

#include "data/prompt.h"
#include "data/task.h"
#include "rl/aggregation.h"
#include "rl/algorithm_registry.h"
#include "rl/config_entries.h"
#include "rl/loss_config.h"
#include "rl/model_shape.h"
#include "rl/presets.h"
#include "rl/reward.h"
#include "rl/reward_mix.h"

namespace minirl::rl {
namespace {

// A preset (rl/presets.h) also says which advantage and aggregation its source uses: defaults for
// keys that nobody wrote, a warning where somebody wrote otherwise.
void apply_preset(LoadedConfig& loaded) {
  AlgorithmConfig& a = loaded.config.algorithm;
  const Preset* preset = find_preset(a.name);
  if (preset == nullptr) {
    return;
  }
  const auto apply = [&](const std::string& key, const Scalar& value, const auto& assign) {
    for (auto& k : loaded.keys) {
      if (k.key != key || k.toml == to_toml(value)) {
        continue;
      }
      if (k.origin == "default") {
        assign();
        k.toml = to_toml(value);
        k.origin = "preset " + preset->name;
      } else {
        loaded.warnings.push_back(
            fmt::format("{}: {} = {}, but the source of the preset {} uses {}", k.origin, key,
                        k.toml, preset->name, to_toml(value)));
      }
    }
  };
  if (preset->advantage) {
    const std::string name(estimator_name(*preset->advantage));
    apply("algorithm.advantage", name, [&] { a.advantage = name; });
  }
  if (preset->normalize_adv_by_std) {
    apply("algorithm.normalize_adv_by_std", *preset->normalize_adv_by_std,
          [&] { a.normalize_adv_by_std = *preset->normalize_adv_by_std; });
  }
  if (preset->aggregation) {
    const std::string name(agg_mode_name(*preset->aggregation));
    apply("algorithm.loss_agg_mode", name, [&] { a.loss_agg_mode = name; });
  }
}

// One check that involves several keys.
class Checks {
 public:
  explicit Checks(const LoadedConfig& loaded) : loaded_(loaded) {}
  void require(bool good, std::string_view key, const std::string& message,
               const std::string& hint) {
    if (good) {
      return;
    }
    problems_.push_back(fmt::format("{}: {}\n  hint: {}", loaded_.origin(key), message, hint));
  }
  void report() const {
    if (problems_.empty()) {
      return;
    }
    std::string all = problems_.size() == 1
                          ? problems_.front()
                          : fmt::format("{} problems in the configuration", problems_.size());
    for (const auto& p : problems_) {
      if (problems_.size() > 1) {
        all += "\n" + p;
      }
    }
    fail(Exit::usage, all);
  }

 private:
  const LoadedConfig& loaded_;
  std::vector<std::string> problems_;
};

bool valid_run_name(const std::string& name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
                     }) &&
         name != "." && name != "..";
}

void check_model(const Config& c, Checks& checks) {
  const ModelConfig& m = c.model.shape;
  checks.require(m.num_heads % m.num_kv_heads == 0, "model.num_kv_heads",
                 fmt::format("model.num_heads = {} is not a multiple of model.num_kv_heads = {}",
                             m.num_heads, m.num_kv_heads),
                 "each key-value head serves the same number of query heads");
  checks.require(m.head_dim % 2 == 0, "model.head_dim",
                 fmt::format("model.head_dim = {} is odd", m.head_dim),
                 "rotary positions turn pairs of numbers");
}

// Files are read when the model is known (rl/problems.h); a configuration stands without them.
void check_file_task(const Config& c, Checks& checks) {
  checks.require(
      c.pretrain.steps == 0, "pretrain.steps",
      fmt::format("pretrain.steps = {}, but the task {} has no worked answers to pretrain "
                  "on",
                  c.pretrain.steps, c.task.name),
      "--set pretrain.steps=0, and model.checkpoint for a trained base model");
  const std::string& instruction = c.prompt.instruction;
  const std::string& wanted = Rewards::find("reward", c.reward.name).instruction;
  checks.require(
      instruction == "auto" || instruction == "none" || data::asks_for(instruction, wanted) ||
          data::asks_for(c.prompt.system, wanted),
      "prompt.instruction",
      fmt::format("prompt.instruction = \"{}\" does not ask for what the reward {} reads "
                  "(\"{}\")",
                  instruction, c.reward.name, wanted),
      "write \"auto\", or \"none\" where the problems ask for it themselves");
}

void check_task(const Config& c, Checks& checks) {
  std::unique_ptr<data::Task> task;
  try {
    task = data::make_task(c.task.name, c.task.params);
    if (task->from_files()) {
      check_file_task(c, checks);
      return;
    }
    (void)task->eval_examples(c.eval.prompts);
  } catch (const Error& error) {
    checks.require(false, task == nullptr ? "task.name" : "eval.prompts", error.what(),
                   "see the [task] and [eval] tables");
    return;
  }
  checks.require(c.eval.prompts > 0, "eval.prompts",
                 fmt::format("eval.prompts = 0 means all problems of a data file, but the task {} "
                             "makes its problems up",
                             c.task.name),
                 "--set eval.prompts=100");
  checks.require(c.prompt.instruction == "auto" && c.prompt.system.empty() &&
                     c.prompt.chat_template == "auto" && c.prompt.max_tokens == 0,
                 "prompt.template",
                 fmt::format("the table [prompt] has no effect on the task {}, whose prompts are "
                             "complete",
                             c.task.name),
                 "leave it out");
  const Index longest = task->completion_bytes_max() + 1;
  checks.require(longest <= c.rollout.max_new_tokens, "rollout.max_new_tokens",
                 fmt::format("rollout.max_new_tokens = {} is too small: the longest right answer "
                             "of the task {} needs {} tokens",
                             c.rollout.max_new_tokens, c.task.name, longest),
                 fmt::format("--set rollout.max_new_tokens={}", longest));
  const Index positions = task->prompt_bytes_max() + c.rollout.max_new_tokens;
  checks.require(
      positions <= c.model.shape.max_positions, "model.max_positions",
      fmt::format(
          "model.max_positions = {} is too small: prompts of up to {} tokens and {} new ones",
          c.model.shape.max_positions, task->prompt_bytes_max(), c.rollout.max_new_tokens),
      fmt::format("--set model.max_positions={}", positions));
  checks.require(positions <= c.train.tokens_per_micro, "train.tokens_per_micro",
                 fmt::format("train.tokens_per_micro = {} is smaller than one sequence ({} tokens)",
                             c.train.tokens_per_micro, positions),
                 "a micro-batch holds whole sequences");
  const std::string& wanted = data::Tasks::find("task", c.task.name).reward;
  // Prompt and parser agree: the task's own reward, one that asks for the same form, or a program.
  const bool reads = wanted == c.reward.name || c.reward.name == "command" ||
                     Rewards::find("reward", wanted).instruction ==
                         Rewards::find("reward", c.reward.name).instruction;
  checks.require(reads, "reward.name",
                 fmt::format("reward.name = \"{}\" cannot read the answers of the task {}",
                             c.reward.name, c.task.name),
                 fmt::format("write [reward] name = \"{}\"", wanted));
}

void check_sizes(const Config& c, Checks& checks) {
  const Index completions = c.completions_per_step();
  checks.require(completions % c.train.updates_per_rollout == 0, "train.updates_per_rollout",
                 fmt::format("{} completions per step (rollout.prompts_per_step {} x "
                             "rollout.group_size {}) cannot be cut into "
                             "train.updates_per_rollout = {} equal mini-batches",
                             completions, c.rollout.prompts_per_step, c.rollout.group_size,
                             c.train.updates_per_rollout),
                 "choose a divisor, so that every update weighs the same");
  checks.require(
      c.train.warmup_steps <= c.train.steps * c.train.updates_per_rollout, "train.warmup_steps",
      fmt::format("train.warmup_steps = {} is longer than the run ({} optimizer updates)",
                  c.train.warmup_steps, c.train.steps * c.train.updates_per_rollout),
      "lower it");
  checks.require(c.pretrain.warmup_steps <= c.pretrain.steps || c.pretrain.steps == 0,
                 "pretrain.warmup_steps",
                 fmt::format("pretrain.warmup_steps = {} is longer than pretrain.steps = {}",
                             c.pretrain.warmup_steps, c.pretrain.steps),
                 "lower it");
  checks.require(
      c.reward.truncated_reward != "soft" || c.reward.soft_buffer_tokens < c.rollout.max_new_tokens,
      "reward.soft_buffer_tokens",
      fmt::format("reward.soft_buffer_tokens = {} is not below rollout.max_new_tokens = {}",
                  c.reward.soft_buffer_tokens, c.rollout.max_new_tokens),
      "the penalty grows over the last tokens before the limit");
  const std::string fault = extra_rewards_fault(c.reward.extra, c.reward.weight);
  checks.require(fault.empty(), "reward.extra", fault, "see docs/rewards/README.md");
  checks.require((c.reward.name == "command") == !c.reward.command.empty(), "reward.command",
                 c.reward.command.empty()
                     ? "reward.name = \"command\" needs the program in reward.command"
                     : "reward.command is set, but reward.name is not \"command\"",
                 "write both, or neither");
  checks.require(valid_run_name(c.run.name), "run.name",
                 fmt::format("run.name = \"{}\" cannot be a folder name", c.run.name),
                 "use letters, digits, '.', '_' and '-'");
}

void check_algorithm(const Config& c, Checks& checks) {
  std::unique_ptr<Algorithm> algorithm;
  try {
    algorithm = make_algorithm(c.algorithm.name, c.algorithm.params);
  } catch (const Error& error) {
    checks.require(false, "algorithm.name", error.what(), "see the [algorithm] table");
    return;
  }
  for (const LossConflict& conflict : loss_conflicts(*algorithm, c)) {
    checks.require(false, conflict.key, conflict.message, conflict.hint);
  }
}

void add_warnings(LoadedConfig& loaded) {
  const Config& c = loaded.config;
  std::vector<std::string>& out = loaded.warnings;
  if (c.rollout.group_size == 1) {
    out.push_back(
        "rollout.group_size = 1: a group of one has nothing to compare with, every advantage is 0 "
        "and nothing is learnt");
  }
  for (const std::string& words : mismatch_words(mismatch_options(c))) {
    out.push_back("[mismatch] is on: " + words);
  }
  if (c.algorithm.kl_coef > 0 && c.algorithm.kl_in == "loss" && c.algorithm.kl_estimator == "k1") {
    out.push_back("algorithm.kl_estimator = \"k1\" in the loss: " +
                  kl_estimator_words(KlEstimator::k1));
  }
  if (c.pretrain.steps == 0 && c.model.checkpoint.empty()) {
    out.push_back(
        "pretrain.steps = 0 and model.checkpoint is empty: reinforcement starts from random "
        "weights and will rarely see a reward");
  }
  if (c.pretrain.steps > 0 && !c.model.checkpoint.empty()) {
    out.push_back(
        "both model.checkpoint and pretrain.steps are set: the checkpoint is trained further on "
        "worked answers first");
  }
}

}  // namespace

LoadedConfig load_config(const std::vector<ConfigSource>& sources) {
  LoadedConfig out;
  Schema schema;
  bind(schema, out.config);
  schema.resolve(sources);
  out.keys = schema.keys();
  apply_preset(out);
  settle_model_shape(out);
  Checks checks(out);
  check_model(out.config, checks);
  check_sizes(out.config, checks);
  check_task(out.config, checks);
  check_algorithm(out.config, checks);
  checks.report();
  add_warnings(out);
  return out;
}

void name_run(LoadedConfig& loaded, const std::string& name, const std::string& origin) {
  if (!loaded.config.run.name.empty()) {
    return;
  }
  loaded.config.run.name = name;
  for (auto& k : loaded.keys) {
    if (k.key == "run.name") {
      k.toml = to_toml(name);
      k.origin = origin;
    }
  }
}

std::string LoadedConfig::results_hash() const {
  std::vector<ResolvedKey> counted = keys;
  for (auto& k : counted) {
    if (k.key == "train.steps" && config.train.lr_schedule == "constant") {
      k.changes_results = false;
    }
  }
  return minirl::results_hash(counted);
}

std::string LoadedConfig::resolved_toml() const {
  return minirl::resolved_toml(
      keys, fmt::format("all values of this run and where each came from; sha256 of the values: {}",
                        hash()));
}

std::string LoadedConfig::origin(std::string_view key) const {
  for (const auto& k : keys) {
    if (k.key == key) {
      return k.origin;
    }
  }
  return "default";
}

std::vector<std::string> differences_on_resume(const LoadedConfig& before,
                                               const LoadedConfig& now) {
  // Under a constant learning rate a longer run is the shorter one continued; schedules depend on
  // the length.
  const bool length_matters =
      before.config.train.lr_schedule != "constant" || now.config.train.lr_schedule != "constant";
  std::vector<std::string> out;
  const auto value = [](const LoadedConfig& c, const std::string& key) -> std::string {
    for (const auto& k : c.keys) {
      if (k.key == key) {
        return k.toml;
      }
    }
    return "(absent)";
  };
  for (const auto* side : {&before, &now}) {
    for (const auto& k : side->keys) {
      const std::string a = value(before, k.key);
      const std::string b = value(now, k.key);
      if (a == b || !k.changes_results || (k.key == "train.steps" && !length_matters)) {
        continue;
      }
      std::string line = fmt::format("{}: {} before, {} now ({})", k.key, a, b, now.origin(k.key));
      if (std::find(out.begin(), out.end(), line) == out.end()) {
        out.push_back(std::move(line));
      }
    }
  }
  return out;
}

}  // namespace minirl::rl
