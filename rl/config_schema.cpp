// minirl rl/config_schema.cpp -- every key of a configuration: its name, what it accepts, what it
// means.
#include "rl/aggregation.h"
#include "rl/config.h"
#include "rl/config_entries.h"
#include "rl/kl_penalty.h"
#include "rl/mismatch.h"
#include "rl/rollout_correction.h"

namespace minirl::rl {
namespace {

const minirl::Range kCount = between(1, 1 << 30);
const minirl::Range kCountOrNone = between(0, 1 << 30);
const minirl::Range kShare = between(0, 1);

// Other tools' names, and things that minirl refuses on purpose.
void bind_instead(Schema& s) {
  const std::string filter =
      "training rollouts sample the whole distribution softmax(logits / temperature): with a "
      "filter the "
      "recorded log-probabilities would not be those of the policy that is trained";
  for (const char* key : {"rollout.top_k", "rollout.top_p", "rollout.min_p"}) {
    s.instead(key, filter);
  }
  s.instead("rollout.n", "the number of completions per prompt is rollout.group_size");
  s.instead("rollout.num_generations",
            "the number of completions per prompt is rollout.group_size");
  s.instead("rollout.max_tokens", "write rollout.max_new_tokens");
  s.instead("rollout.max_completion_length", "write rollout.max_new_tokens");
  s.instead(
      "rollout.batch_size",
      "write rollout.prompts_per_step (prompts) or rollout.max_batch (sequences decoded at once)");
  s.instead("train.batch_size",
            "a rollout has rollout.prompts_per_step * rollout.group_size completions; "
            "train.updates_per_rollout cuts it");
  s.instead("train.micro_batch_size",
            "write train.tokens_per_micro: micro-batches are cut by tokens, not by sequences");
  s.instead("train.learning_rate", "write train.lr");
  s.instead("train.epochs", "write train.steps (rollouts)");
  s.instead("train.clip_grad", "write train.max_grad_norm");
  s.instead("train.clip_norm", "write train.max_grad_norm");
  s.instead("train.kl_coef", "write algorithm.kl_coef");
  s.instead("algorithm.beta", "the penalty to a reference policy is algorithm.kl_coef");
  s.instead("algorithm.kl_loss_coef", "write algorithm.kl_coef");
  s.instead("algorithm.entropy_coeff", "write algorithm.entropy_coef");
  s.instead("algorithm.scale_rewards", "write algorithm.normalize_adv_by_std");
  s.instead("eval.n", "write eval.samples");
}

}  // namespace

void bind(Schema& s, Config& c) {
  s.table("run", "where results go, and the seed");
  s.field("name", &c.run.name, "folder name below run.dir; empty: the name of the config file")
      .no_effect_on_results();
  s.field("dir", &c.run.dir, "folder of all runs").no_effect_on_results();
  s.field("seed", &c.run.seed, at_least(0),
          "seed of everything random; the same seed gives the same bits");

  ModelConfig& m = c.model.shape;
  s.table("model",
          "shape of the decoder (names as in Hugging Face config.json where they exist there)");
  s.field("preset", &c.model.preset, preset_choices(),
          "shape of a published model: the default of every key below that is not written");
  s.field("family", &m.family, model_families(), "architecture");
  s.field("vocab_size", &m.vocab_size, between(0, 1 << 24),
          "rows of the embedding table; 0: as many as the tokenizer has ids. Rows beyond those ids "
          "are padding: never sampled, no part of any probability");
  s.field("hidden_size", &m.hidden_size, between(1, 65536), "width D of the residual stream");
  s.field("num_layers", &m.num_layers, between(1, 1024), "decoder layers L");
  s.field("num_heads", &m.num_heads, between(1, 1024), "query heads H");
  s.field("num_kv_heads", &m.num_kv_heads, between(1, 1024),
          "key-value heads G; divides num_heads");
  s.field("head_dim", &m.head_dim, between(2, 1024),
          "width of one head, even; independent of hidden_size / num_heads");
  s.field("ffn_size", &m.ffn_size, between(1, 1 << 20), "width F of the feed-forward layer");
  s.field("rope_theta", &m.rope_theta, above(1), "base of the rotary frequencies");
  s.field("rms_norm_eps", &m.rms_norm_eps, above_to(0, 0.1),
          "added to the mean square before the root");
  s.field("tie_word_embeddings", &m.tie_word_embeddings, "the head is the embedding table");
  s.field("max_positions", &m.max_positions, between(2, 1 << 24), "longest sequence, tokens");
  s.field("initializer_range", &m.initializer_range, above_to(0, 1),
          "standard deviation of the initial weights");
  s.field("checkpoint", &c.model.checkpoint,
          "folder of a checkpoint to start from; empty: random weights. Its config.json decides "
          "about the shape");
  s.field("tied_head", &c.model.tied_head, {"refuse", "table", "head"},
          "a checkpoint with tied embeddings and a head that differs: an error, leave the head out, "
          "or load it untied");

  s.field("tokenizer", &c.model.tokenizer,
          "folder with tokenizer.json, or bytes (built in); empty: that of the checkpoint, bytes "
          "where there is no checkpoint");

  s.table("task",
          "where prompts and gold answers come from; the task's own parameters are further keys");
  s.entry("name", &c.task.name, &c.task.params, task_specs, "a registered task");

  s.table("prompt", "how the problems of data files (the tasks jsonl and parquet) become prompts");
  s.field("template", &c.prompt.chat_template, template_choices(),
          "chat template; auto: that of the tokenizer's files, plain where they have none");
  s.field("thinking", &c.prompt.thinking, "qwen3: false asks for an answer without thinking");
  s.field("system", &c.prompt.system,
          "system message where a problem has none; empty: the template's own");
  s.field("instruction", &c.prompt.instruction,
          "put behind a problem that does not ask for it yet; auto: what the reward reads; none");
  s.field("max_tokens", &c.prompt.max_tokens, between(0, 1 << 24),
          "longest prompt; 0: what rollout.max_new_tokens leaves of the model's positions");
  s.field("too_long", &c.prompt.too_long, {"error", "drop"},
          "a longer prompt: an error, or left out and counted");

  s.table("pretrain", "supervised making of the base model from worked answers of mixed quality");
  s.field("steps", &c.pretrain.steps, kCountOrNone, "optimizer updates; 0: none");
  s.field("batch_sequences", &c.pretrain.batch_sequences, kCount, "worked answers per update");
  s.field("lr", &c.pretrain.lr, above_to(0, 1), "peak learning rate, per update");
  s.field("warmup_steps", &c.pretrain.warmup_steps, kCountOrNone, "updates of linear warm-up");
  s.field("lr_final_fraction", &c.pretrain.lr_final_fraction, kShare,
          "cosine decay ends at this fraction of lr");
  s.field("weight_decay", &c.pretrain.weight_decay, between(0, 10),
          "decoupled (AdamW), times the learning rate");

  s.table("rollout", "sampling of training rollouts");
  s.field("prompts_per_step", &c.rollout.prompts_per_step, kCount, "prompts per train step");
  s.field("group_size", &c.rollout.group_size, between(1, 4096), "completions per prompt");
  s.field("temperature", &c.rollout.temperature, above_to(0, 100),
          "T of softmax(logits / T), in sampling and in training");
  s.field("max_new_tokens", &c.rollout.max_new_tokens, between(1, 1 << 20),
          "longest completion, the end token included");
  s.field("max_batch", &c.rollout.max_batch, between(1, 65536),
          "sequences decoded at once (memory and speed only)")
      .no_effect_on_results();
  s.field("dynamic_sampling", &c.rollout.dynamic_sampling,
          "replace prompts whose completions all score the same (DAPO)");
  s.field("dynamic_max_batches", &c.rollout.dynamic_max_batches, kCountOrNone,
          "dynamic sampling: batches of prompts_per_step prompts before it gives up; 0: no limit");
  s.field("ema_decay", &c.rollout.ema_decay, from_below(0, 1),
          "rollouts of averaged weights, a <- d a + (1 - d) theta after every update; 0: of the "
          "live weights");

  s.table("train", "reinforcement learning");
  s.field("steps", &c.train.steps, kCountOrNone,
          "rollouts; each is followed by updates_per_rollout optimizer updates");
  s.field("updates_per_rollout", &c.train.updates_per_rollout, between(1, 4096),
          "optimizer updates per rollout, on disjoint equal parts of it");
  s.field("tokens_per_micro", &c.train.tokens_per_micro, between(1, 1 << 24),
          "tokens per forward and backward pass (memory and speed only)")
      .no_effect_on_results();
  s.field("lr", &c.train.lr, between(0, 1), "peak learning rate, per optimizer update");
  s.field("lr_schedule", &c.train.lr_schedule, schedule_choices(),
          "shape after the warm-up, over all optimizer updates");
  s.field("lr_final_fraction", &c.train.lr_final_fraction, kShare,
          "where linear and cosine end, as a fraction of lr");
  s.field("warmup_steps", &c.train.warmup_steps, kCountOrNone,
          "optimizer updates of linear warm-up");
  s.field("weight_decay", &c.train.weight_decay, between(0, 10),
          "decoupled (AdamW), times the learning rate");
  s.field("beta1", &c.train.beta1, from_below(0, 1), "AdamW: decay of the mean of gradients");
  s.field("beta2", &c.train.beta2, from_below(0, 1),
          "AdamW: decay of the mean of squared gradients");
  s.field("eps", &c.train.eps, above_to(0, 1), "AdamW: added to the root of the second moment");
  s.field("max_grad_norm", &c.train.max_grad_norm, or_word(above(0), "off", kOff),
          "gradients are scaled down to this norm; \"off\": never");
  s.field("recompute_layers", &c.train.recompute_layers,
          "activations of a layer are computed again in backward: less memory, more time")
      .no_effect_on_results();
  s.field("weights_dtype", &c.train.weights_dtype, {"f32", "bf16"},
          "storage of weight matrices; bf16: rounded stochastically, computed with as f32");
  s.field("optimizer_dtype", &c.train.optimizer_dtype, {"f32", "bf16"},
          "storage of AdamW's moments; bf16: rounded stochastically");

  s.table("algorithm", "the objective; the algorithm's own parameters are further keys");
  s.entry("name", &c.algorithm.name, &c.algorithm.params, algorithm_specs,
          "a registered loss or preset");
  s.field("loss_agg_mode", &c.algorithm.loss_agg_mode, agg_mode_names(),
          "how token losses become one loss");
  s.field("horizon", &c.algorithm.horizon, kCountOrNone,
          "divisor of seq-mean-token-sum-norm, tokens; 0: rollout.max_new_tokens");
  s.field("advantage", &c.algorithm.advantage, advantage_choices(), "baseline within a group");
  s.field("normalize_adv_by_std", &c.algorithm.normalize_adv_by_std,
          "divide advantages by the group's standard deviation");
  s.field("mask_truncated", &c.algorithm.mask_truncated,
          "leave completions without end token out of the loss (they stay in their group's "
          "baseline)");
  s.field(
      "fully_masked", &c.algorithm.fully_masked, {"count", "exclude"},
      "a sequence that is left out: count it in means over sequences (adding 0), or exclude it");
  s.field("entropy_coef", &c.algorithm.entropy_coef, between(-10, 10),
          "loss -= entropy_coef * entropy, aggregated like the loss");
  s.field("kl_coef", &c.algorithm.kl_coef, between(0, 1000),
          "penalty to a reference policy, per token; 0: none");
  s.field("kl_estimator", &c.algorithm.kl_estimator, kl_estimator_names(),
          "k1, k2, k3, or the value of k1 / k3 with the gradient of k2 (k1+, k3+)");
  s.field("kl_in", &c.algorithm.kl_in, {"loss", "reward"},
          "where the penalty goes: a term of the loss, or subtracted from the reward before "
          "advantages");
  s.field("kl_importance_weighted", &c.algorithm.kl_importance_weighted,
          "kl_in = loss: multiply the penalty by pi/mu");
  s.field("kl_kept_tokens_only", &c.algorithm.kl_kept_tokens_only,
          "kl_in = loss: no penalty on tokens that the loss masked");
  s.field("kl_reference", &c.algorithm.kl_reference,
          "folder of the reference model; empty: the weights before the first train step");
  s.field("correction", &c.algorithm.correction, correction_names(),
          "weight made of pi_old/mu, for losses whose weight is anchored at pi_old");
  s.field("correction_cap", &c.algorithm.correction_cap, at_least(0),
          "tis, mis: the cap; 0: the usual one (2; mis 3)");
  s.field("correction_low", &c.algorithm.correction_low, at_least(0),
          "icepop, geometric-mask: lower limit; 0: the usual one (0.5; 0.999)");
  s.field("correction_high", &c.algorithm.correction_high, at_least(0),
          "icepop, geometric-mask: upper limit; 0: the usual one (5; 1.001)");

  s.table("mismatch",
          "a rollout engine that disagrees with the trainer, on purpose; all off by default");
  s.field("weights", &c.mismatch.weights, rollout_weights_names(),
          "how the rollout engine stores weights");
  s.field("logit_noise", &c.mismatch.logit_noise, between(0, 100),
          "standard deviation of seeded noise on every logit of the rollout");
  s.field("staleness", &c.mismatch.staleness, between(0, 4096),
          "rollouts come from the weights so many optimizer updates ago");
  s.field("untempered_logp", &c.mismatch.untempered_logp,
          "log mu is recorded at temperature 1 while tokens are drawn at rollout.temperature");
  s.field("top_p", &c.mismatch.top_p, above_to(0, 1),
          "tokens are drawn from the nucleus of this mass while log mu is that of the whole "
          "vocabulary; 1: off");

  s.table("reward", "the score of a completion");
  s.field("name", &c.reward.name, reward_choices(), "a registered reward");
  s.field("truncated_reward", &c.reward.truncated_reward, {"zero", "keep", "soft"},
          "a completion without end token: 0, its score, or its score minus a penalty for length");
  s.field("soft_buffer_tokens", &c.reward.soft_buffer_tokens, kCount,
          "soft: the penalty grows linearly over the last so many tokens");
  s.field("soft_penalty", &c.reward.soft_penalty, between(0, 100),
          "soft: the penalty at rollout.max_new_tokens");
  s.field("weight", &c.reward.weight, above_to(0, 100), "the score of `name` is multiplied by it");
  s.field("extra", &c.reward.extra,
          "rewards of form that are added, with their weights: \"think_format 0.2, repetition 1\"");
  s.field("command", &c.reward.command,
          "name = \"command\": a shell command that scores JSON lines (docs/rewards/command.md)");
  s.field("command_timeout_s", &c.reward.command_timeout_s, above_to(0, 86400),
          "seconds that the command may take for one batch")
      .no_effect_on_results();

  s.table("eval", "held-out problems");
  s.field("every", &c.eval.every, kCountOrNone,
          "train steps between evaluations; 0: before and after only")
      .no_effect_on_results();
  s.field("prompts", &c.eval.prompts, kCountOrNone, "held-out problems; 0: all of a data file")
      .no_effect_on_results();
  s.field("samples", &c.eval.samples, between(1, 4096),
          "completions per problem: avg@samples, pass@samples")
      .no_effect_on_results();
  s.field("temperature", &c.eval.temperature, above_to(0, 100), "T of softmax(logits / T)")
      .no_effect_on_results();
  s.field("top_p", &c.eval.top_p, above_to(0, 1),
          "sample from the most likely tokens of this total probability; 1: off")
      .no_effect_on_results();
  s.field("top_k", &c.eval.top_k, between(-1, 1 << 24),
          "sample from so many most likely tokens; 0 or -1: off")
      .no_effect_on_results();

  s.table("checkpoint", "what is kept on disk");
  s.field("every", &c.checkpoint.every, kCountOrNone,
          "train steps between checkpoints; 0: at the end only")
      .no_effect_on_results();
  s.field("pretrain_every", &c.checkpoint.pretrain_every, kCountOrNone,
          "pretraining updates between checkpoints; 0: only the base model at the end")
      .no_effect_on_results();
  s.field("keep", &c.checkpoint.keep, kCountOrNone, "newest checkpoints kept; 0: all")
      .no_effect_on_results();

  s.table("runtime", "how it runs; nothing here changes a bit of the results");
  s.field("threads", &c.runtime.threads, between(0, 1024), "0: one a core, or MINIRL_THREADS")
      .no_effect_on_results();
  s.field("simd", &c.runtime.simd, {"auto", "portable", "avx2", "avx512"},
          "instruction set of the kernels")
      .no_effect_on_results();
  s.field("device", &c.runtime.device, {"auto", "cpu", "cuda"},
          "where train, eval and sample compute; auto: on a CUDA device where one can be used")
      .no_effect_on_results();
  s.field("progress", &c.runtime.progress, {"auto", "line", "plain", "off"},
          "auto: one line in place on a terminal, plain lines elsewhere")
      .no_effect_on_results();
  s.field("packed_weights", &c.runtime.packed_weights, {"keep", "each-use"},
          "each-use: weights are packed for a product when it is computed, less memory, more time")
      .no_effect_on_results();
  s.field("memory_check", &c.runtime.memory_check, {"refuse", "warn", "off"},
          "what happens when a run will need more memory than there is")
      .no_effect_on_results();
  s.field("tensorboard", &c.runtime.tensorboard,
          "write the metrics as TensorBoard event files too")
      .no_effect_on_results();

  s.table("audit", "what is recorded besides; nothing here changes a bit of the results");
  s.field("metric_aliases", &c.audit.metric_aliases, {"none", "verl", "trl"},
          "metrics once more under the names of another tool")
      .no_effect_on_results();
  s.field("trail", &c.audit.trail, {"none", "sample", "all"},
          "every token of the loss with its reasons, in tokens/: of no, some or all completions")
      .no_effect_on_results();
  s.field("trail_every", &c.audit.trail_every, kCount, "train steps between trails")
      .no_effect_on_results();
  s.field("trail_sequences", &c.audit.trail_sequences, kCount,
          "sample: completions of each such step, chosen by the seed")
      .no_effect_on_results();
  bind_instead(s);
}

}  // namespace minirl::rl
