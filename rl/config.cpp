#include "rl/config.h"

#include <algorithm>

#include "data/task.h"
#include "rl/aggregation.h"
#include "rl/algorithm_registry.h"
#include "rl/config_entries.h"
#include "rl/presets.h"

namespace minirl::rl {
namespace {

const minirl::Range kCount = between(1, 1 << 30);
const minirl::Range kCountOrNone = between(0, 1 << 30);
const minirl::Range kShare = between(0, 1);

// Other tools' names, and things that minirl refuses on purpose.
void bind_instead(Schema& s) {
  const std::string filter = "training rollouts sample the whole distribution softmax(logits / temperature): with a filter the "
                             "recorded log-probabilities would not be those of the policy that is trained";
  for (const char* key : {"rollout.top_k", "rollout.top_p", "rollout.min_p"}) { s.instead(key, filter); }
  s.instead("rollout.n", "the number of completions per prompt is rollout.group_size");
  s.instead("rollout.num_generations", "the number of completions per prompt is rollout.group_size");
  s.instead("rollout.max_tokens", "write rollout.max_new_tokens");
  s.instead("rollout.max_completion_length", "write rollout.max_new_tokens");
  s.instead("rollout.batch_size", "write rollout.prompts_per_step (prompts) or rollout.max_batch (sequences decoded at once)");
  s.instead("train.batch_size", "a rollout has rollout.prompts_per_step * rollout.group_size completions; train.updates_per_rollout cuts it");
  s.instead("train.micro_batch_size", "write train.tokens_per_micro: micro-batches are cut by tokens, not by sequences");
  s.instead("train.learning_rate", "write train.lr");
  s.instead("train.epochs", "write train.steps (rollouts)");
  s.instead("train.clip_grad", "write train.max_grad_norm");
  s.instead("train.clip_norm", "write train.max_grad_norm");
  s.instead("train.kl_coef", "this version has no reference-model penalty; the algorithms are anchored at the rollout policy");
  s.instead("algorithm.kl_coef", "this version has no reference-model penalty; the algorithms are anchored at the rollout policy");
  s.instead("algorithm.scale_rewards", "write algorithm.normalize_adv_by_std");
  s.instead("eval.n", "write eval.samples");
}

// A preset (rl/presets.h) also says which advantage and aggregation its source uses: defaults for keys that
// nobody wrote, a warning where somebody wrote otherwise.
void apply_preset(LoadedConfig& loaded) {
  AlgorithmConfig& a = loaded.config.algorithm;
  const Preset* preset = find_preset(a.name);
  if (preset == nullptr) { return; }
  const auto apply = [&](const std::string& key, const Scalar& value, const auto& assign) {
    for (auto& k : loaded.keys) {
      if (k.key != key || k.toml == to_toml(value)) { continue; }
      if (k.origin == "default") {
        assign();
        k.toml = to_toml(value);
        k.origin = "preset " + preset->name;
      } else {
        loaded.warnings.push_back(fmt::format("{}: {} = {}, but the source of the preset {} uses {}", k.origin, key, k.toml, preset->name,
                                              to_toml(value)));
      }
    }
  };
  if (preset->advantage) {
    const std::string name(estimator_name(*preset->advantage));
    apply("algorithm.advantage", name, [&] { a.advantage = name; });
  }
  if (preset->normalize_adv_by_std) {
    apply("algorithm.normalize_adv_by_std", *preset->normalize_adv_by_std, [&] { a.normalize_adv_by_std = *preset->normalize_adv_by_std; });
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
  void require(bool good, std::string_view key, const std::string& message, const std::string& hint) {
    if (good) { return; }
    problems_.push_back(fmt::format("{}: {}\n  hint: {}", loaded_.origin(key), message, hint));
  }
  void report() const {
    if (problems_.empty()) { return; }
    std::string all = problems_.size() == 1 ? problems_.front() : fmt::format("{} problems in the configuration", problems_.size());
    for (const auto& p : problems_) {
      if (problems_.size() > 1) { all += "\n" + p; }
    }
    fail(Exit::usage, all);
  }

 private:
  const LoadedConfig& loaded_;
  std::vector<std::string> problems_;
};

bool valid_run_name(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; }) &&
         name != "." && name != "..";
}

void check_model(const Config& c, Checks& checks) {
  const ModelConfig& m = c.model.shape;
  checks.require(m.num_heads % m.num_kv_heads == 0, "model.num_kv_heads",
                 fmt::format("model.num_heads = {} is not a multiple of model.num_kv_heads = {}", m.num_heads, m.num_kv_heads),
                 "each key-value head serves the same number of query heads");
  checks.require(m.head_dim % 2 == 0, "model.head_dim", fmt::format("model.head_dim = {} is odd", m.head_dim),
                 "rotary positions turn pairs of numbers");
}

void check_task(const Config& c, Checks& checks) {
  std::unique_ptr<data::Task> task;
  try {
    task = data::make_task(c.task.name, c.task.params);
    (void)task->eval_examples(c.eval.prompts);
  } catch (const Error& error) {
    checks.require(false, task == nullptr ? "task.name" : "eval.prompts", error.what(), "see the [task] and [eval] tables");
    return;
  }
  const Index longest = task->completion_bytes_max() + 1;
  checks.require(longest <= c.rollout.max_new_tokens, "rollout.max_new_tokens",
                 fmt::format("rollout.max_new_tokens = {} is too small: the longest right answer of the task {} needs {} tokens",
                             c.rollout.max_new_tokens, c.task.name, longest),
                 fmt::format("--set rollout.max_new_tokens={}", longest));
  const Index positions = task->prompt_bytes_max() + c.rollout.max_new_tokens;
  checks.require(positions <= c.model.shape.max_positions, "model.max_positions",
                 fmt::format("model.max_positions = {} is too small: prompts of up to {} tokens and {} new ones", c.model.shape.max_positions,
                             task->prompt_bytes_max(), c.rollout.max_new_tokens),
                 fmt::format("--set model.max_positions={}", positions));
  checks.require(positions <= c.train.tokens_per_micro, "train.tokens_per_micro",
                 fmt::format("train.tokens_per_micro = {} is smaller than one sequence ({} tokens)", c.train.tokens_per_micro, positions),
                 "a micro-batch holds whole sequences");
  const std::string& wanted = data::Tasks::find("task", c.task.name).reward;
  checks.require(wanted == c.reward.name, "reward.name",
                 fmt::format("reward.name = \"{}\" cannot read the answers of the task {}", c.reward.name, c.task.name),
                 fmt::format("write [reward] name = \"{}\"", wanted));
}

void check_sizes(const Config& c, Checks& checks) {
  const Index completions = c.completions_per_step();
  checks.require(completions % c.train.updates_per_rollout == 0, "train.updates_per_rollout",
                 fmt::format("{} completions per step (rollout.prompts_per_step {} x rollout.group_size {}) cannot be cut into "
                             "train.updates_per_rollout = {} equal mini-batches",
                             completions, c.rollout.prompts_per_step, c.rollout.group_size, c.train.updates_per_rollout),
                 "choose a divisor, so that every update weighs the same");
  checks.require(c.train.warmup_steps <= c.train.steps * c.train.updates_per_rollout, "train.warmup_steps",
                 fmt::format("train.warmup_steps = {} is longer than the run ({} optimizer updates)", c.train.warmup_steps,
                             c.train.steps * c.train.updates_per_rollout),
                 "lower it");
  checks.require(c.pretrain.warmup_steps <= c.pretrain.steps || c.pretrain.steps == 0, "pretrain.warmup_steps",
                 fmt::format("pretrain.warmup_steps = {} is longer than pretrain.steps = {}", c.pretrain.warmup_steps, c.pretrain.steps), "lower it");
  checks.require(c.reward.truncated_reward != "soft" || c.reward.soft_buffer_tokens < c.rollout.max_new_tokens, "reward.soft_buffer_tokens",
                 fmt::format("reward.soft_buffer_tokens = {} is not below rollout.max_new_tokens = {}", c.reward.soft_buffer_tokens,
                             c.rollout.max_new_tokens),
                 "the penalty grows over the last tokens before the limit");
  checks.require(valid_run_name(c.run.name), "run.name", fmt::format("run.name = \"{}\" cannot be a folder name", c.run.name),
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
  const Traits& t = algorithm->traits();
  const std::string name = fmt::format("algorithm.name = \"{}\"", c.algorithm.name);
  checks.require(t.supports_multi_update || c.train.updates_per_rollout == 1, "train.updates_per_rollout",
                 fmt::format("{} allows one update per rollout, but train.updates_per_rollout = {}", name, c.train.updates_per_rollout),
                 "--set train.updates_per_rollout=1");
  checks.require(!t.needs_reference && !t.needs_topk && !t.requires_ema_rollout, "algorithm.name",
                 fmt::format("{} needs {}, which this version does not provide", name,
                             t.needs_reference ? "a reference model" : t.needs_topk ? "the top-k probabilities of the rollout" : "averaged rollout weights"),
                 "choose another algorithm");
  checks.require(!t.needs_seq_mean_token_mean || c.algorithm.loss_agg_mode == "seq-mean-token-mean", "algorithm.loss_agg_mode",
                 fmt::format("{} is a loss of whole sequences and is averaged as seq-mean-token-mean, not {}", name, c.algorithm.loss_agg_mode),
                 "--set algorithm.loss_agg_mode=seq-mean-token-mean");
}

void add_warnings(LoadedConfig& loaded) {
  const Config& c = loaded.config;
  std::vector<std::string>& out = loaded.warnings;
  if (c.rollout.group_size == 1) {
    out.push_back("rollout.group_size = 1: a group of one has nothing to compare with, every advantage is 0 and nothing is learnt");
  }
  if (c.pretrain.steps == 0 && c.model.checkpoint.empty()) {
    out.push_back("pretrain.steps = 0 and model.checkpoint is empty: reinforcement starts from random weights and will rarely see a reward");
  }
  if (c.pretrain.steps > 0 && !c.model.checkpoint.empty()) {
    out.push_back("both model.checkpoint and pretrain.steps are set: the checkpoint is trained further on worked answers first");
  }
}

}  // namespace

void bind(Schema& s, Config& c) {
  s.table("run", "where results go, and the seed");
  s.field("name", &c.run.name, "folder name below run.dir; empty: the name of the config file").no_effect_on_results();
  s.field("dir", &c.run.dir, "folder of all runs").no_effect_on_results();
  s.field("seed", &c.run.seed, at_least(0), "seed of everything random; the same seed gives the same bits");

  ModelConfig& m = c.model.shape;
  s.table("model", "shape of the decoder (names as in Hugging Face config.json where they exist there)");
  s.field("family", &m.family, model_families(), "architecture");
  s.field("hidden_size", &m.hidden_size, between(1, 65536), "width D of the residual stream");
  s.field("num_layers", &m.num_layers, between(1, 1024), "decoder layers L");
  s.field("num_heads", &m.num_heads, between(1, 1024), "query heads H");
  s.field("num_kv_heads", &m.num_kv_heads, between(1, 1024), "key-value heads G; divides num_heads");
  s.field("head_dim", &m.head_dim, between(2, 1024), "width of one head, even; independent of hidden_size / num_heads");
  s.field("ffn_size", &m.ffn_size, between(1, 1 << 20), "width F of the feed-forward layer");
  s.field("rope_theta", &m.rope_theta, above(1), "base of the rotary frequencies");
  s.field("rms_norm_eps", &m.rms_norm_eps, above_to(0, 0.1), "added to the mean square before the root");
  s.field("tie_word_embeddings", &m.tie_word_embeddings, "the head is the embedding table");
  s.field("max_positions", &m.max_positions, between(2, 1 << 24), "longest sequence, tokens");
  s.field("initializer_range", &m.initializer_range, above_to(0, 1), "standard deviation of the initial weights");
  s.field("checkpoint", &c.model.checkpoint, "folder of a checkpoint to start from; empty: random weights");

  s.table("task", "where prompts and gold answers come from; the task's own parameters are further keys");
  s.entry("name", &c.task.name, &c.task.params, task_specs, "a registered task");

  s.table("pretrain", "supervised making of the base model from worked answers of mixed quality");
  s.field("steps", &c.pretrain.steps, kCountOrNone, "optimizer updates; 0: none");
  s.field("batch_sequences", &c.pretrain.batch_sequences, kCount, "worked answers per update");
  s.field("lr", &c.pretrain.lr, above_to(0, 1), "peak learning rate, per update");
  s.field("warmup_steps", &c.pretrain.warmup_steps, kCountOrNone, "updates of linear warm-up");
  s.field("lr_final_fraction", &c.pretrain.lr_final_fraction, kShare, "cosine decay ends at this fraction of lr");
  s.field("weight_decay", &c.pretrain.weight_decay, between(0, 10), "decoupled (AdamW), times the learning rate");

  s.table("rollout", "sampling of training rollouts");
  s.field("prompts_per_step", &c.rollout.prompts_per_step, kCount, "prompts per train step");
  s.field("group_size", &c.rollout.group_size, between(1, 4096), "completions per prompt");
  s.field("temperature", &c.rollout.temperature, above_to(0, 100), "T of softmax(logits / T), in sampling and in training");
  s.field("max_new_tokens", &c.rollout.max_new_tokens, between(1, 1 << 20), "longest completion, the end token included");
  s.field("max_batch", &c.rollout.max_batch, between(1, 65536), "sequences decoded at once (memory and speed only)").no_effect_on_results();

  s.table("train", "reinforcement learning");
  s.field("steps", &c.train.steps, kCountOrNone, "rollouts; each is followed by updates_per_rollout optimizer updates");
  s.field("updates_per_rollout", &c.train.updates_per_rollout, between(1, 4096), "optimizer updates per rollout, on disjoint equal parts of it");
  s.field("tokens_per_micro", &c.train.tokens_per_micro, between(1, 1 << 24), "tokens per forward and backward pass (memory and speed only)").no_effect_on_results();
  s.field("lr", &c.train.lr, between(0, 1), "peak learning rate, per optimizer update");
  s.field("lr_schedule", &c.train.lr_schedule, schedule_choices(), "shape after the warm-up, over all optimizer updates");
  s.field("lr_final_fraction", &c.train.lr_final_fraction, kShare, "where linear and cosine end, as a fraction of lr");
  s.field("warmup_steps", &c.train.warmup_steps, kCountOrNone, "optimizer updates of linear warm-up");
  s.field("weight_decay", &c.train.weight_decay, between(0, 10), "decoupled (AdamW), times the learning rate");
  s.field("beta1", &c.train.beta1, from_below(0, 1), "AdamW: decay of the mean of gradients");
  s.field("beta2", &c.train.beta2, from_below(0, 1), "AdamW: decay of the mean of squared gradients");
  s.field("eps", &c.train.eps, above_to(0, 1), "AdamW: added to the root of the second moment");
  s.field("max_grad_norm", &c.train.max_grad_norm, or_word(above(0), "off", kOff), "gradients are scaled down to this norm; \"off\": never");

  s.table("algorithm", "the objective; the algorithm's own parameters are further keys");
  s.entry("name", &c.algorithm.name, &c.algorithm.params, algorithm_specs, "a registered loss or preset");
  s.field("loss_agg_mode", &c.algorithm.loss_agg_mode, agg_mode_names(), "how token losses become one loss");
  s.field("horizon", &c.algorithm.horizon, kCountOrNone, "divisor of seq-mean-token-sum-norm, tokens; 0: rollout.max_new_tokens");
  s.field("advantage", &c.algorithm.advantage, advantage_choices(), "baseline within a group");
  s.field("normalize_adv_by_std", &c.algorithm.normalize_adv_by_std, "divide advantages by the group's standard deviation");

  s.table("reward", "the score of a completion");
  s.field("name", &c.reward.name, reward_choices(), "a registered reward");
  s.field("truncated_reward", &c.reward.truncated_reward, {"zero", "keep", "soft"},
          "a completion without end token: 0, its score, or its score minus a penalty for length");
  s.field("soft_buffer_tokens", &c.reward.soft_buffer_tokens, kCount, "soft: the penalty grows linearly over the last so many tokens");
  s.field("soft_penalty", &c.reward.soft_penalty, between(0, 100), "soft: the penalty at rollout.max_new_tokens");

  s.table("eval", "held-out problems");
  s.field("every", &c.eval.every, kCountOrNone, "train steps between evaluations; 0: before and after only").no_effect_on_results();
  s.field("prompts", &c.eval.prompts, between(1, 1 << 20), "held-out problems").no_effect_on_results();
  s.field("samples", &c.eval.samples, between(1, 4096), "completions per problem: avg@samples, pass@samples").no_effect_on_results();
  s.field("temperature", &c.eval.temperature, above_to(0, 100), "T of softmax(logits / T)").no_effect_on_results();

  s.table("checkpoint", "what is kept on disk");
  s.field("every", &c.checkpoint.every, kCountOrNone, "train steps between checkpoints; 0: at the end only").no_effect_on_results();
  s.field("pretrain_every", &c.checkpoint.pretrain_every, kCountOrNone, "pretraining updates between checkpoints; 0: only the base model at the end").no_effect_on_results();
  s.field("keep", &c.checkpoint.keep, kCountOrNone, "newest checkpoints kept; 0: all").no_effect_on_results();

  s.table("runtime", "how it runs; nothing here changes a bit of the results");
  s.field("threads", &c.runtime.threads, between(0, 1024), "0: one a core, or MINIRL_THREADS").no_effect_on_results();
  s.field("simd", &c.runtime.simd, {"auto", "portable", "avx2", "avx512"}, "instruction set of the kernels").no_effect_on_results();
  s.field("progress", &c.runtime.progress, {"auto", "line", "plain", "off"},
          "auto: one line in place on a terminal, plain lines elsewhere").no_effect_on_results();
  bind_instead(s);
}

LoadedConfig load_config(const std::vector<ConfigSource>& sources) {
  LoadedConfig out;
  out.config.model.shape.rope_theta = 10000.0;
  out.config.model.shape.max_positions = 256;
  Schema schema;
  bind(schema, out.config);
  schema.resolve(sources);
  out.keys = schema.keys();
  apply_preset(out);
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
  if (!loaded.config.run.name.empty()) { return; }
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
    if (k.key == "train.steps" && config.train.lr_schedule == "constant") { k.changes_results = false; }
  }
  return minirl::results_hash(counted);
}

std::string LoadedConfig::resolved_toml() const {
  return minirl::resolved_toml(keys, fmt::format("all values of this run and where each came from; sha256 of the values: {}", hash()));
}

std::string LoadedConfig::origin(std::string_view key) const {
  for (const auto& k : keys) {
    if (k.key == key) { return k.origin; }
  }
  return "default";
}

std::vector<std::string> differences_on_resume(const LoadedConfig& before, const LoadedConfig& now) {
  // Under a constant learning rate a longer run is the shorter one continued; schedules depend on the length.
  const bool length_matters = before.config.train.lr_schedule != "constant" || now.config.train.lr_schedule != "constant";
  std::vector<std::string> out;
  const auto value = [](const LoadedConfig& c, const std::string& key) -> std::string {
    for (const auto& k : c.keys) {
      if (k.key == key) { return k.toml; }
    }
    return "(absent)";
  };
  for (const auto* side : {&before, &now}) {
    for (const auto& k : side->keys) {
      const std::string a = value(before, k.key);
      const std::string b = value(now, k.key);
      if (a == b || !k.changes_results || (k.key == "train.steps" && !length_matters)) { continue; }
      std::string line = fmt::format("{}: {} before, {} now ({})", k.key, a, b, now.origin(k.key));
      if (std::find(out.begin(), out.end(), line) == out.end()) { out.push_back(std::move(line)); }
    }
  }
  return out;
}

}  // namespace minirl::rl
