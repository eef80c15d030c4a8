#include "rl/plan.h"

#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/parallel.h"
#include "data/task.h"
#include "data/tokenizer.h"
#include "model/family.h"
#include "rl/advantage.h"
#include "rl/aggregation.h"
#include "rl/algorithm_registry.h"
#include "rl/config_entries.h"
#include "rl/loss_config.h"
#include "rl/problems.h"
#include "rl/reward.h"

namespace minirl::rl {
namespace {

// 1234567 -> "1,234,567"
std::string grouped(Index n) {
  return n < 1000 ? fmt::format("{}", n) : fmt::format("{},{:03}", grouped(n / 1000), n % 1000);
}

std::string anchor_words(const Traits& traits, Index updates) {
  const std::string frozen =
      updates > 1 ? fmt::format(", frozen over the {} updates of a rollout", updates) : ", frozen";
  const std::string mu = "log mu, recorded while sampling" + frozen;
  return traits.needs_recomputed
             ? mu + "; log pi_old, computed by one more forward pass before the first update" +
                   frozen
             : mu;
}

std::string rate_words(const TrainConfig& t) {
  std::string out = fmt::format("{:g}, {}", t.lr, t.lr_schedule);
  if (t.lr_schedule != "constant") {
    out += fmt::format(" to {:g}", t.lr * t.lr_final_fraction);
  }
  if (t.warmup_steps > 0) {
    out += fmt::format(", after {} updates of warm-up", t.warmup_steps);
  }
  out += fmt::format("; AdamW ({:g}, {:g}, {:g}), weight decay {:g}, ", t.beta1, t.beta2, t.eps,
                     t.weight_decay);
  return out + (std::isinf(t.max_grad_norm)
                    ? std::string("no clipping")
                    : fmt::format("gradient norm clipped to {:g}", t.max_grad_norm));
}

// Everything around the loss that is not at its default, one line each.
std::vector<std::string> extras_of(const Config& c) {
  const AlgorithmConfig& a = c.algorithm;
  std::vector<std::string> out;
  if (a.kl_coef > 0) {
    const std::string to =
        a.kl_reference.empty() ? "the weights before the first step" : "'" + a.kl_reference + "'";
    out.push_back(fmt::format("KL penalty {:g} x {} to {}, in the {}{}", a.kl_coef, a.kl_estimator,
                              to, a.kl_in,
                              a.kl_in == "loss"
                                  ? ": " + kl_estimator_words(kl_estimator_from_name(a.kl_estimator))
                                  : std::string(", before advantages")));
  }
  if (a.entropy_coef != 0) {
    out.push_back(fmt::format("entropy bonus {:g}", a.entropy_coef));
  }
  if (a.correction != "none") {
    const CorrectionOptions o = loss_options(c).correction;
    out.push_back(fmt::format("correction {} (cap {:g}, {:g} to {:g})", a.correction, o.cap, o.low,
                              o.high));
  }
  if (a.mask_truncated) {
    out.push_back("truncated completions are left out of the loss; means over sequences " +
                  std::string(a.fully_masked == "count" ? "count them" : "exclude them"));
  }
  if (c.rollout.dynamic_sampling) {
    out.push_back(fmt::format("dynamic sampling: groups of equal scores are replaced, at most {} "
                              "batches a step",
                              c.rollout.dynamic_max_batches));
  }
  if (c.rollout.ema_decay > 0) {
    out.push_back(fmt::format("rollouts of averaged weights, decay {:g}", c.rollout.ema_decay));
  }
  for (const std::string& words : mismatch_words(mismatch_options(c))) {
    out.push_back("mismatch: " + words);
  }
  return out;
}

// Tokens. How long the prompts of data files are is not known before they are read: as long as they
// may be.
Index longest_prompt(const Config& c, const data::Task& task) {
  if (!task.from_files()) {
    return task.prompt_bytes_max();
  }
  return c.prompt.max_tokens > 0
             ? c.prompt.max_tokens
             : std::max<Index>(c.model.shape.max_positions - c.rollout.max_new_tokens, 1);
}

}  // namespace

Index parameter_count(const ModelConfig& m) { return model_parameter_count(m); }

Plan make_plan(const LoadedConfig& loaded) {
  const Config& c = loaded.config;
  Plan p;
  p.run = c.run.name;
  p.folder = (std::filesystem::path(c.run.dir) / c.run.name).string();
  p.config_sha256 = loaded.hash();
  p.results_sha256 = loaded.results_hash();
  p.model = c.model.shape;
  if (p.model.vocab_size == 0) {
    p.model.vocab_size = open_tokenizer(c)->vocab_size();
  }
  p.parameters = parameter_count(p.model);
  if (!c.model.checkpoint.empty()) {
    std::error_code ignored;
    const bool there = std::filesystem::exists(
        std::filesystem::path(c.model.checkpoint) / "config.json", ignored);
    p.checkpoint = c.model.checkpoint +
                   (there ? "" : ": not there; the shape is that of the keys of [model]" +
                                     (c.model.preset.empty() ? std::string()
                                                             : " and the preset " + c.model.preset));
  }

  p.prompts_per_step = c.rollout.prompts_per_step;
  p.completions_per_step = c.completions_per_step();
  p.updates_per_step = c.train.updates_per_rollout;
  p.completions_per_update = p.completions_per_step / p.updates_per_step;
  p.steps = c.train.steps;
  p.updates = p.steps * p.updates_per_step;
  p.completions = p.steps * p.completions_per_step;
  p.pretrain_updates = c.pretrain.steps;
  p.pretrain_sequences = c.pretrain.steps * c.pretrain.batch_sequences;

  const AlgorithmInfo info = algorithm_info(c.algorithm.name);
  const auto algorithm = make_algorithm(c.algorithm.name, c.algorithm.params);
  p.algorithm = c.algorithm.name;
  for (const auto& [name, value] : c.algorithm.params) {
    p.algorithm += fmt::format(", {} = {}", name, to_toml(value.value));
  }
  p.summary = info.summary;
  p.formula = info.formula;
  p.advantage = estimator_words(estimator_from_name(c.algorithm.advantage));
  p.advantage += c.algorithm.normalize_adv_by_std ? ", divided by the group's standard deviation"
                                                  : ", not divided by a standard deviation";
  p.extras = extras_of(c);
  p.aggregation = c.algorithm.loss_agg_mode + ": " +
                  agg_mode_words(agg_mode_from_name(c.algorithm.loss_agg_mode),
                                 static_cast<double>(c.horizon()));
  Traits traits = algorithm->traits();
  traits.needs_recomputed = needs_recomputed(*algorithm, c);
  p.anchor = anchor_words(traits, p.updates_per_step);
  p.exact = !mismatch_options(c).any() && c.rollout.ema_decay == 0;
  const WeightRange range = algorithm->weight_range();
  p.weight_lower = range.lower;
  p.weight_upper = range.upper;
  p.boundary_reachable = range.boundary_reachable;
  p.weight_words = range.words;

  p.sampling = fmt::format(
      "softmax(logits / {:g}) over the whole vocabulary, no top-k and no top-p; up to {} new "
      "tokens, the end token is sampled and trained",
      c.rollout.temperature, c.rollout.max_new_tokens);
  p.reward = fmt::format("{}: {}", c.reward.name, Rewards::find("reward", c.reward.name).summary);
  p.truncation =
      c.reward.truncated_reward == "zero" ? "zero: a completion without end token scores 0"
      : c.reward.truncated_reward == "keep"
          ? "keep: a completion without end token is scored like any other"
          : fmt::format("soft: up to {:g} is subtracted over the last {} tokens before the limit",
                        c.reward.soft_penalty, c.reward.soft_buffer_tokens);
  p.evaluation = fmt::format(
      "{} held-out problems x {} samples at temperature {:g}, before and after{}", c.eval.prompts,
      c.eval.samples, c.eval.temperature,
      c.eval.every > 0 ? fmt::format(" and every {} steps", c.eval.every) : std::string());
  p.learning_rate = rate_words(c.train);
  p.seeds = fmt::format(
      "run.seed = {}; every random number is a function of it and of what it is for, so threads, "
      "batch sizes and resumption change nothing",
      c.run.seed);
  p.stops = {fmt::format("after step {}", p.steps),
             "SIGINT or SIGTERM: after a checkpoint, exit 130 or 143",
             "a loss, log-probability or gradient that is not finite: exit 4, nothing is updated",
             p.exact ? "a ratio that is not exactly 1 on the first update after a rollout: exit 4"
                     : "(the tripwire on the first ratio rests)"};
  p.warnings = loaded.warnings;
  if (!p.boundary_reachable) {
    p.warnings.push_back(
        fmt::format("the boundary of {} cannot be reached: no token is ever masked or reversed",
                    c.algorithm.name));
  }
  const auto task = data::make_task(c.task.name, c.task.params);
  p.memory_shape = {p.model, longest_prompt(c, *task),
                    c.runtime.threads > 0 ? c.runtime.threads : default_threads()};
  p.memory = plan_memory(c, p.memory_shape);
  p.memory_advice = memory_advice(c, p.memory_shape);
  return p;
}

std::string plan_text(const Plan& p) {
  std::string out = fmt::format("{}  ->  {}\n\n", p.run, p.folder);
  const auto line = [&](std::string_view name, const std::string& text) {
    out += fmt::format("{:<15}{}\n", name, text);
  };
  const ModelConfig& m = p.model;
  line("model", fmt::format("{}, {} parameters: width {}, {} layers, {} query and {} key-value "
                            "heads of {}, feed-forward {}, vocabulary {}{}",
                            m.family, grouped(p.parameters), m.hidden_size, m.num_layers,
                            m.num_heads, m.num_kv_heads, m.head_dim, m.ffn_size, m.vocab_size,
                            m.tie_word_embeddings ? ", tied" : ""));
  if (!p.checkpoint.empty()) {
    line("checkpoint", p.checkpoint);
  }
  line("base model", p.pretrain_updates > 0
                         ? fmt::format("{} supervised updates on {} worked answers",
                                       grouped(p.pretrain_updates), grouped(p.pretrain_sequences))
                         : std::string("no pretraining"));
  line("one step",
       fmt::format("{} prompts -> {} completions -> {} optimizer updates of {} completions each",
                   p.prompts_per_step, p.completions_per_step, p.updates_per_step,
                   p.completions_per_update));
  line("whole run", fmt::format("{} steps, {} completions, {} optimizer updates", grouped(p.steps),
                                grouped(p.completions), grouped(p.updates)));
  out += "\n";
  line("algorithm", fmt::format("{}: {}", p.algorithm, p.summary));
  line("", p.formula);
  line("weight", p.weight_words);
  line("boundary", p.boundary_reachable ? "can be reached" : "can NOT be reached");
  line("first update",
       p.exact ? "every ratio is exactly 1 and the KL to the rollout exactly 0; compared bit by "
                 "bit, else the run stops"
               : "ratios are NOT 1: the rollout policy is not the live one (see below); the "
                 "tripwire rests");
  line("anchor", p.anchor);
  line("advantage", p.advantage);
  line("aggregation", p.aggregation);
  line("learning rate", p.learning_rate);
  for (std::size_t i = 0; i < p.extras.size(); ++i) {
    line(i == 0 ? "besides" : "", p.extras[i]);
  }
  out += "\n";
  line("sampling", p.sampling);
  line("reward", p.reward);
  line("truncated", p.truncation);
  line("evaluation", p.evaluation);
  line("seeds", p.seeds);
  for (std::size_t i = 0; i < p.stops.size(); ++i) {
    line(i == 0 ? "stops" : "", p.stops[i]);
  }
  out += "\n";
  const MemoryPlan& y = p.memory;
  const auto part = [](const char* name, Index bytes) {
    return bytes > 0 ? fmt::format(", {} {}", name, binary_bytes(bytes)) : std::string();
  };
  line("memory", fmt::format("about {} at the peak: weights {}", binary_bytes(y.total()),
                             binary_bytes(y.weights)) +
                     part("gradients", y.gradients) + part("moments", y.moments) +
                     part("packed weights", y.packed) + part("one matrix in use", y.widened) +
                     part("other policies", y.copies) + part("bf16 view", y.view) +
                     part("program", y.program));
  line("", fmt::format("and while sampling {} (key-value cache {}, prompts {}), while training {} of "
                       "activations",
                       binary_bytes(y.sampling()), binary_bytes(y.kv_cache), binary_bytes(y.prefill),
                       binary_bytes(y.activations)));
  for (std::size_t i = 0; i < p.memory_advice.size(); ++i) {
    line(i == 0 ? "less memory" : "", p.memory_advice[i]);
  }
  line("config", "sha256 " + p.config_sha256);
  line("", "sha256 of the keys that change results " + p.results_sha256);
  for (const auto& w : p.warnings) {
    line("warning", w);
  }
  return out;
}

std::string plan_json(const Plan& p) {
  const ModelConfig& m = p.model;
  const MemoryPlan& y = p.memory;
  const nlohmann::ordered_json doc = {
      {"run", p.run},
      {"folder", p.folder},
      {"config_sha256", p.config_sha256},
      {"results_sha256", p.results_sha256},
      {"model",
       {{"family", m.family},
        {"parameters", p.parameters},
        {"vocab_size", m.vocab_size},
        {"hidden_size", m.hidden_size},
        {"num_layers", m.num_layers},
        {"num_heads", m.num_heads},
        {"num_kv_heads", m.num_kv_heads},
        {"head_dim", m.head_dim},
        {"ffn_size", m.ffn_size},
        {"tie_word_embeddings", m.tie_word_embeddings}}},
      {"pretrain", {{"updates", p.pretrain_updates}, {"sequences", p.pretrain_sequences}}},
      {"step",
       {{"prompts", p.prompts_per_step},
        {"completions", p.completions_per_step},
        {"updates", p.updates_per_step},
        {"completions_per_update", p.completions_per_update}}},
      {"total", {{"steps", p.steps}, {"completions", p.completions}, {"updates", p.updates}}},
      {"algorithm",
       {{"name", p.algorithm},
        {"summary", p.summary},
        {"formula", p.formula},
        {"weight_lower", p.weight_lower},
        {"weight_upper", p.weight_upper},
        {"weight", p.weight_words},
        {"boundary_reachable", p.boundary_reachable},
        {"anchor", p.anchor},
        {"advantage", p.advantage},
        {"aggregation", p.aggregation}}},
      {"besides", p.extras},
      {"expected_first_update_ratio",
       p.exact ? nlohmann::ordered_json(1.0) : nlohmann::ordered_json(nullptr)},
      {"learning_rate", p.learning_rate},
      {"sampling", p.sampling},
      {"reward", p.reward},
      {"truncated", p.truncation},
      {"evaluation", p.evaluation},
      {"seeds", p.seeds},
      {"stops", p.stops},
      {"memory_bytes",
       {{"weights", y.weights},
        {"gradients", y.gradients},
        {"moments", y.moments},
        {"packed_weights", y.packed},
        {"matrix_in_use", y.widened},
        {"other_policies", y.copies},
        {"bf16_view", y.view},
        {"kv_cache", y.kv_cache},
        {"prefill", y.prefill},
        {"activations", y.activations},
        {"program", y.program},
        {"total", y.total()}}},
      {"less_memory", p.memory_advice},
      {"warnings", p.warnings}};
  return doc.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace minirl::rl
