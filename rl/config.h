// minirl rl/config.h -- everything that a run is a function of. One struct a table of the TOML
// file; names of keys are names of fields. rl/config.cpp binds, checks and documents them.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "core/config.h"
#include "model/model_config.h"

namespace minirl::rl {

inline constexpr double kOff = std::numeric_limits<double>::infinity();  // "off" for a limit

struct RunConfig {
  std::string name;          // of the folder below `dir`; empty: the config file's name
  std::string dir = "runs";  // where run folders go
  Index seed = 1;            // of everything random
};

struct ModelTable {
  ModelTable() {
    shape.rope_theta = 10000.0;
    shape.max_positions = 256;
    shape.initializer_range = 0.06;
  }
  ModelConfig shape;       // vocab_size 0: as many as the tokenizer has ids
  std::string preset;      // of a published model: what keys that nobody wrote say
  std::string tied_head = "refuse";  // refuse | table | head: see model/pretrained.h
  std::string checkpoint;  // folder to start from; empty: random weights, then [pretrain]
  std::string tokenizer;   // folder, or bytes; empty: that of the checkpoint, else bytes
};

/// A registered thing and its own parameters.
struct EntryConfig {
  std::string name;
  ParamMap params;
};

/// How a problem of a data file becomes what the policy sees.
struct PromptConfig {
  std::string chat_template = "auto";  // auto: that of the tokenizer's files
  bool thinking = true;
  std::string system;                // empty: the template's own
  std::string instruction = "auto";  // auto: what the reward reads; none; or a text
  Index max_tokens = 0;              // 0: what max_new_tokens leaves of the model's positions
  std::string too_long = "error";    // error | drop
};

/// Supervised training of the base model on worked answers of mixed quality.
struct PretrainConfig {
  Index steps = 800;               // optimizer updates; 0: none
  Index batch_sequences = 64;      // worked answers per update
  double lr = 3e-3;                // peak
  Index warmup_steps = 50;         // updates
  double lr_final_fraction = 0.1;  // cosine decay to this fraction of lr
  double weight_decay = 0.1;
};

/// Sampling of training rollouts: from softmax(logits / temperature), nothing filtered (R6).
struct RolloutConfig {
  Index prompts_per_step = 32;
  Index group_size = 8;  // completions per prompt
  double temperature = 1.0;
  Index max_new_tokens = 48;  // the end token included
  Index max_batch = 256;      // sequences decoded at once; changes no bit
  bool dynamic_sampling = false;  // DAPO: prompts whose completions all score the same are replaced
  Index dynamic_max_batches = 10;  // batches of prompts before giving up; 0: no limit
  double ema_decay = 0;  // rollouts of averaged weights; 0: of the live ones
};

struct TrainConfig {
  Index steps = 40;  // rollouts, each followed by updates_per_rollout optimizer updates
  Index updates_per_rollout = 4;  // on disjoint equal parts of a rollout; anchors stay frozen
  Index tokens_per_micro = 4096;  // tokens per forward and backward pass; changes no bit
  double lr = 3e-4;
  std::string lr_schedule = "linear";  // constant | linear | cosine
  double lr_final_fraction = 0.0;      // where linear and cosine end, as a fraction of lr
  Index warmup_steps = 0;              // optimizer updates
  double weight_decay = 0.0;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double max_grad_norm = 1.0;  // kOff: no clipping
  bool recompute_layers = false;        // memory for time; changes no bit
  std::string weights_dtype = "f32";    // f32 | bf16: storage of matrices
  std::string optimizer_dtype = "f32";  // f32 | bf16: storage of moments
};

struct AlgorithmConfig {
  std::string name = "drpo";
  ParamMap params;  // what the algorithm declares for itself: delta, ...
  std::string loss_agg_mode = "seq-mean-token-sum-norm";
  Index horizon = 0;  // tokens; 0: rollout.max_new_tokens
  std::string advantage = "group-mean";
  bool normalize_adv_by_std = false;
  bool mask_truncated = false;           // completions without end token are left out of the loss
  std::string fully_masked = "count";    // such a sequence in the denominator: count | exclude
  double entropy_coef = 0;               // loss -= entropy_coef * H
  double kl_coef = 0;                    // penalty to a reference policy; 0: none
  std::string kl_estimator = "k3";       // k1 | k2 | k3 | k1+ | k3+
  std::string kl_in = "loss";            // loss | reward
  bool kl_importance_weighted = false;   // loss: the penalty times pi/mu
  bool kl_kept_tokens_only = false;      // loss: not on tokens that the mask dropped
  std::string kl_reference;              // checkpoint folder; empty: the weights before step 1
  std::string correction = "none";       // of pi_old/mu, for losses anchored at pi_old
  double correction_cap = 0;             // 0: the usual value of the correction
  double correction_low = 0, correction_high = 0;  // 0: the usual values
};

/// A rollout engine that disagrees with the trainer, on purpose (rl/mismatch.h).
struct MismatchConfig {
  std::string weights = "exact";  // exact | bf16 | e4m3 | int8
  double logit_noise = 0;
  Index staleness = 0;  // optimizer updates
  bool untempered_logp = false;
  double top_p = 1;  // nucleus of the draw, log mu not renormalised
};

struct RewardConfig {
  std::string name = "boxed";
  std::string truncated_reward =
      "zero";                     // a completion that hits max_new_tokens: zero | keep | soft
  Index soft_buffer_tokens = 16;  // soft: the penalty grows over the last so many tokens
  double soft_penalty = 1.0;      // soft: subtracted at max_new_tokens
  double weight = 1.0;            // of the reward above
  std::string extra = "";         // rewards of form and their weights: "think_format 0.2, repetition 1"
  std::string command = "";       // name = "command": the program that scores
  double command_timeout_s = 60;  // of one batch
};

struct EvalConfig {
  Index every = 20;     // train steps between evaluations; 0: before and after only
  Index prompts = 100;  // held-out problems
  Index samples = 8;    // completions per problem: avg@samples, pass@samples
  double temperature = 1.0;
  double top_p = 1.0;  // 1: off
  Index top_k = 0;     // 0 or -1: off
};

struct CheckpointConfig {
  Index every = 20;            // train steps; 0: at the end only
  Index pretrain_every = 200;  // pretraining updates; 0: only the base model at the end
  Index keep = 2;              // newest checkpoints kept; 0: all
};

struct RuntimeConfig {
  int threads = 0;                // 0: every core
  std::string simd = "auto";      // auto | portable | avx2 | avx512
  std::string device = "auto";    // auto | cpu | cuda
  std::string progress = "auto";  // auto | line | plain | off
  std::string packed_weights = "keep";   // keep | each-use: memory for time; changes no bit
  std::string memory_check = "refuse";   // refuse | warn | off
  bool tensorboard = true;               // write events.out.tfevents.*
};

struct AuditConfig {
  std::string metric_aliases = "none";  // none | verl | trl
  std::string trail = "sample";         // none | sample | all: tokens/
  Index trail_every = 1;                // train steps between trails
  Index trail_sequences = 8;            // sample: completions a step
};

struct Config {
  RunConfig run;
  ModelTable model;
  EntryConfig task{"arithmetic", {}};
  PromptConfig prompt;
  PretrainConfig pretrain;
  RolloutConfig rollout;
  TrainConfig train;
  AlgorithmConfig algorithm;
  MismatchConfig mismatch;
  RewardConfig reward;
  EvalConfig eval;
  CheckpointConfig checkpoint;
  RuntimeConfig runtime;
  AuditConfig audit;

  Index completions_per_step() const { return rollout.prompts_per_step * rollout.group_size; }
  Index horizon() const {
    return algorithm.horizon > 0 ? algorithm.horizon : rollout.max_new_tokens;
  }
};

/// A configuration with where every value came from.
struct LoadedConfig {
  Config config;
  std::vector<ResolvedKey> keys;
  std::vector<std::string> warnings;  // legal, but probably not meant

  std::string resolved_toml() const;  // resolves to the same configuration
  std::string hash() const { return config_hash(keys); }
  /// Of the keys that change results: what a checkpoint and a resumed run must agree on. Under a
  /// constant learning rate train.steps is not among them: a longer run is the shorter one
  /// continued.
  std::string results_hash() const;
  std::string origin(std::string_view key) const;
};

/// Applies the sources (files first, then --set), checks every key and how keys fit together.
/// Throws Exit::usage and names every problem with its place.
LoadedConfig load_config(const std::vector<ConfigSource>& sources);

/// Sets run.name where the configuration leaves it empty.
void name_run(LoadedConfig& loaded, const std::string& name, const std::string& origin);

/// Binds `config` to `schema`: the list of all keys (docs/formats.md is tested against it).
void bind(Schema& schema, Config& config);

/// Keys whose change would make the rest of a resumed run differ from the original, with both
/// values; empty: the run may go on under `now`.
std::vector<std::string> differences_on_resume(const LoadedConfig& before, const LoadedConfig& now);

}  // namespace minirl::rl
