#include "rl/trainer.h"

#include <csignal>
#include <numeric>

#include "core/parallel.h"
#include "core/stopwatch.h"
#include "model/pretrained.h"
#include "rl/device.h"
#include "rl/algorithm_registry.h"
#include "rl/dynamic_sampling.h"
#include "rl/kl_reward.h"
#include "rl/ledger_hash.h"
#include "rl/loss_config.h"
#include "rl/memory_plan.h"
#include "rl/tripwires.h"

namespace minirl::rl {
namespace {

// A token of a supervised example: the completion and the end token are trained, the prompt is not.
struct Worked {
  std::vector<Token> prompt, completion;
};

ScheduleOptions pretrain_schedule(const PretrainConfig& p) {
  return {ScheduleKind::cosine, p.lr, p.warmup_steps, p.steps, p.lr_final_fraction};
}

ScheduleOptions train_schedule(const TrainConfig& t) {
  return {schedule_from_name(t.lr_schedule), t.lr, t.warmup_steps, t.steps * t.updates_per_rollout, t.lr_final_fraction};
}

TruncatedReward truncated_from(const std::string& name) {
  return name == "keep" ? TruncatedReward::keep : name == "soft" ? TruncatedReward::soft : TruncatedReward::zero;
}

// What the loss declares and the settings do not fit is refused before anything is computed.
void require_served(const Algorithm& algorithm, const Config& config) {
  for (const LossConflict& c : loss_conflicts(algorithm, config)) { fail(Exit::usage, c.message, c.hint); }
}

}  // namespace

const Metric* StepRecord::find(std::string_view key) const {
  for (const Metric& m : metrics) {
    if (m.key == key) { return &m; }
  }
  return nullptr;
}

Exec make_exec(const RuntimeConfig& runtime) {
  if (runtime.simd != "auto") { set_isa(parse_isa(runtime.simd)); }
  return Exec{.threads = runtime.threads > 0 ? runtime.threads : default_threads()};
}

SamplerOptions sampler_options(const Config& config, const data::Tokenizer& tokenizer, double temperature) {
  SamplerOptions o;
  o.temperature = temperature;
  o.max_new_tokens = config.rollout.max_new_tokens;
  o.max_batch = config.rollout.max_batch;
  o.stop_ids = tokenizer.end_tokens();
  o.vocabulary = tokenizer.vocab_size();
  return o;
}

RewardOptions reward_options(const Config& config) {
  return {&Rewards::find("reward", config.reward.name), truncated_from(config.reward.truncated_reward), config.rollout.max_new_tokens,
          config.reward.soft_buffer_tokens, config.reward.soft_penalty, config.reward.weight, parse_extra_rewards(config.reward.extra),
          config.reward.command.empty() ? nullptr : std::make_shared<RewardCommand>(config.reward.command, config.reward.command_timeout_s)};
}

std::unique_ptr<Decoder> initial_model(const Config& config, const data::Tokenizer& tokenizer, const std::function<void(const std::string&)>& note) {
  const auto settle = [&](Decoder& model) {  // memory for time; no bit changes
    model.set_recompute_layers(config.train.recompute_layers);
    model.params().keep_packed(config.runtime.packed_weights == "keep");
  };
  const DType matrices = config.train.weights_dtype == "bf16" ? DType::bf16 : DType::f32;
  if (!config.model.checkpoint.empty()) {
    LoadOptions load;
    load.tied_head = tied_head_from_name(config.model.tied_head);
    load.matrices = matrices;
    if (note) {
      load.progress = [&note, watch = Stopwatch(), next = 1.0](std::size_t done, std::size_t total) mutable {
        if (watch.seconds() < next) { return; }
        next = watch.seconds() + 1;
        note(fmt::format("reading the model: {} of {}", binary_bytes(static_cast<Index>(done)), binary_bytes(static_cast<Index>(total))));
      };
    }
    auto model = load_pretrained(config.model.checkpoint, DType::f32, load);
    settle(*model);
    if (model->config().vocab_size < tokenizer.vocab_size()) {
      fail(Exit::usage, fmt::format("model.checkpoint '{}' has {} token ids, the tokenizer {}", config.model.checkpoint, model->config().vocab_size, tokenizer.vocab_size()),
           "the tokenizer is model.tokenizer, else that of the checkpoint, else the built-in bytes");
    }
    return model;
  }
  ModelConfig shape = config.model.shape;
  if (shape.vocab_size == 0) { shape.vocab_size = tokenizer.vocab_size(); }
  if (shape.vocab_size < tokenizer.vocab_size()) {
    fail(Exit::usage, fmt::format("model.vocab_size = {} is less than the tokenizer's {} ids", shape.vocab_size, tokenizer.vocab_size()), "raise it, or set it to 0");
  }
  auto model = make_decoder(shape, DType::f32, static_cast<std::uint64_t>(config.run.seed));
  model->params().store_matrices_as(matrices);
  settle(*model);
  return model;
}

std::unique_ptr<Optimizer> make_optimizer(const Config& config, Phase phase, Params& params) {
  const TrainConfig& t = config.train;
  AdamWOptions options = phase == Phase::pretrain ? AdamWOptions{0.9, 0.95, 1e-8, config.pretrain.weight_decay, 1.0}
                                                  : AdamWOptions{t.beta1, t.beta2, t.eps, t.weight_decay, t.max_grad_norm};
  options.state = t.optimizer_dtype == "bf16" ? DType::bf16 : DType::f32;
  options.seed = static_cast<std::uint64_t>(config.run.seed);
  return std::make_unique<Optimizer>(params, options);
}

Trainer::Trainer(const LoadedConfig& loaded, std::filesystem::path checkpoints, Observer& observer, std::function<int()> interrupted,
                 std::unique_ptr<data::Task> task)
    : loaded_(loaded), config_(loaded.config), checkpoints_(std::move(checkpoints)), observer_(observer), interrupted_(std::move(interrupted)),
      exec_(make_device_exec(config_)), tokenizer_(open_tokenizer(config_)),
      algorithm_(make_algorithm(config_.algorithm.name, config_.algorithm.params)),
      model_(initial_model(config_, *tokenizer_, [this](const std::string& text) { observer_.note(text); })), reward_(reward_options(config_)) {
  model_->params().move_to(exec_);
  observer_.tokenizer(*tokenizer_);
  require_served(*algorithm_, config_);
  if (algorithm_->traits().topk > tokenizer_->vocab_size()) {
    fail(Exit::usage, fmt::format("algorithm.topk = {} is more than the {} ids of the vocabulary", algorithm_->traits().topk, tokenizer_->vocab_size()), "lower algorithm.topk");
  }
  problems_ = open_problems(config_, *tokenizer_, model_->config().max_positions, std::move(task));
  for (const std::string& note : problems_.notes) { observer_.note(note); }
  rollout_policy_ = std::make_unique<RolloutPolicy>(*model_, mismatch_options(config_), config_.rollout.ema_decay);
  progress_ = {config_.pretrain.steps > 0 ? Phase::pretrain : Phase::train, 0, loaded_.results_hash(), {}, 0, problems_.task->fingerprint()};
  optimizer_ = make_optimizer(config_, progress_.phase, model_->params());
}

void Trainer::restore(const std::filesystem::path& checkpoint) { adopt(checkpoint, verify_checkpoint(checkpoint)); }

void Trainer::adopt(const std::filesystem::path& checkpoint, const Progress& progress) {
  if (progress.results_hash != progress_.results_hash) {
    fail(Exit::usage, fmt::format("checkpoint '{}' belongs to another configuration", checkpoint.string()), "resume with the config of the run, or start a new run");
  }
  if (!progress.problems_hash.empty() && progress.problems_hash != progress_.problems_hash) {
    fail(Exit::usage, fmt::format("the problems of '{}' are not those that the run began with (sha256 {}, checkpoint '{}' has {})", config_.task.name,
                                  progress_.problems_hash.substr(0, 16), checkpoint.string(), progress.problems_hash.substr(0, 16)),
         "put the data files and the tokenizer back as they were, or start a new run with model.checkpoint = this checkpoint");
  }
  progress_ = progress;
  optimizer_ = make_optimizer(config_, progress_.phase, model_->params());
  load_checkpoint(checkpoint, *model_, *optimizer_);
  rollout_policy_->restart();
  if (progress_.phase == Phase::train && !rollout_policy_->state().empty()) { rollout_policy_->load_state(load_rollout_policy(checkpoint)); }
  saved_ = true;
}

void Trainer::resume() {
  const Found found = newest_checkpoint(checkpoints_);
  for (const std::string& why : found.skipped) { observer_.note("skipped " + why); }
  if (found.directory.empty()) {
    observer_.note("no checkpoint is whole yet: starting from the beginning");
    return;
  }
  if (found.progress.results_hash == progress_.results_hash && found.progress.phase == Phase::train && found.progress.step >= config_.train.steps && observer_.has_evaluation(config_.train.steps)) {
    fail(Exit::usage, fmt::format("nothing is left to train: '{}' is the end of this run", found.directory.string()), "raise train.steps in a new run that starts from this checkpoint");
  }
  adopt(found.directory, found.progress);
  observer_.note(fmt::format("resumed from {} (weights {})", found.directory.filename().string(), progress_.weights_hash.substr(0, 16)));
}

LedgerStart Trainer::state_hashes() {
  LedgerStart start{progress_.phase, progress_.step, hash_optimizer(*optimizer_, exec_), hash_weights(model_->params(), exec_), {}};
  for (const Param& p : model_->params().all()) { start.parameters.emplace_back(p.name, p.value.numel()); }
  return start;
}

GradientWitness Trainer::gradient_hashes(LedgerStep& step) {
  if (!observer_.wants_ledger()) { return {}; }
  return [this, &step](Params& params) {
    const Stopwatch watch;
    step.gradients.push_back(hash_gradients(params, exec_));
    ledger_s_ += watch.seconds();
  };
}

// What is known when the step is done; progress_ counts it already.
void Trainer::finish_ledger(LedgerStep& step) {
  const Stopwatch watch;
  step.phase = progress_.phase;
  step.step = progress_.step;
  step.optimizer = hash_optimizer(*optimizer_, exec_);
  step.weights = hash_weights(model_->params(), exec_);
  observer_.ledger(step);
  ledger_s_ += watch.seconds();
}

void Trainer::run() {
  if (observer_.wants_ledger()) { observer_.start(state_hashes()); }
  if (progress_.phase == Phase::pretrain) { pretrain(); }
  train();
}

void Trainer::save() {
  if (saved_) { return; }
  observer_.checkpoint(save_to(checkpoints_));
  saved_ = true;
}

std::filesystem::path Trainer::save_to(const std::filesystem::path& folder) const {
  return save_checkpoint(folder, progress_, *model_, *optimizer_, *tokenizer_, config_.checkpoint.keep,
                         progress_.phase == Phase::train ? rollout_policy_->state() : StateTensors{});
}

void Trainer::stop_if_asked() {
  const int signal = interrupted_ ? interrupted_() : 0;
  if (signal == 0) { return; }
  save();
  throw Error(signal == SIGTERM ? Exit::terminated : Exit::interrupted,
              fmt::format("stopped by a signal after {} {}; everything up to there is in the checkpoint, go on with --resume",
                          progress_.phase == Phase::pretrain ? "pretraining step" : "step", progress_.step));
}

void Trainer::pretrain() {
  observer_.phase(Phase::pretrain, progress_.step, config_.pretrain.steps);
  while (progress_.step < config_.pretrain.steps) {
    stop_if_asked();
    pretrain_step();
    if (config_.checkpoint.pretrain_every > 0 && progress_.step % config_.checkpoint.pretrain_every == 0 && progress_.step < config_.pretrain.steps) { save(); }
  }
  begin_training();
  save();  // the base model
}

void Trainer::begin_training() {
  progress_ = {Phase::train, 0, progress_.results_hash, {}, 0, progress_.problems_hash};
  optimizer_ = make_optimizer(config_, Phase::train, model_->params());
  rollout_policy_->restart();
  saved_ = false;
}

void Trainer::advance() {
  if (progress_.phase == Phase::pretrain && progress_.step < config_.pretrain.steps) {
    pretrain_step();
    return;
  }
  if (progress_.phase == Phase::pretrain) { begin_training(); }
  if (progress_.step >= config_.train.steps) { fail(Exit::usage, fmt::format("the run ends after step {}", config_.train.steps)); }
  load_reference();
  train_step();
}

void Trainer::pretrain_step() {
  const Stopwatch watch;
  const PretrainConfig& p = config_.pretrain;
  std::vector<Worked> worked;
  std::vector<ScoredSequence> batch;
  for (Index i = 0; i < p.batch_sequences; ++i) {
    const data::SupervisedExample e = problems_.task->supervised_example(static_cast<std::uint64_t>(config_.run.seed), progress_.step * p.batch_sequences + i);
    worked.push_back({tokenizer_->encode(e.example.prompt), tokenizer_->encode(e.completion)});
    worked.back().completion.push_back(tokenizer_->eos());
  }
  for (const Worked& w : worked) { batch.push_back({w.prompt, w.completion}); }
  const double lr = learning_rate_at(pretrain_schedule(p), progress_.step);
  LedgerStep line;
  ledger_s_ = 0;
  if (observer_.wants_ledger()) { view_.take(model_->params(), exec_); }
  const UpdateReport report = update_supervised(*model_, *optimizer_, batch, {1.0, config_.train.tokens_per_micro, false, tokenizer_->vocab_size()}, lr, exec_, gradient_hashes(line));
  ++progress_.step;
  saved_ = false;
  if (observer_.wants_ledger()) {
    line.bf16_changed = view_.changed(model_->params(), exec_);
    line.examples = hash_examples(batch);
    finish_ledger(line);
  }
  StepRecord record{Phase::pretrain, progress_.step, p.steps, {}, watch.seconds()};
  record.metrics = {{"pretrain/loss", report.loss, "nats", "mean of -log pi over completion tokens"},
                    {"pretrain/grad_norm", report.optimizer.grad_norm, "", "global norm before clipping"},
                    {"pretrain/lr", lr, "per update", "learning rate"},
                    {"perf/tokens_per_s", static_cast<double>(report.micro.tokens) / record.seconds, "tokens/s", "trained tokens over the time of the step"},
                    {"perf/ledger_s", ledger_s_, "s", "of which: hashes for the ledger"},
                    {"perf/step_s", record.seconds, "s", "wall-clock time of the step"}};
  observer_.step(record);
}

void Trainer::evaluate_now() {
  if (observer_.has_evaluation(progress_.step)) { return; }
  EvalOptions options = eval_options(config_, *tokenizer_, *problems_.format);
  options.reward = reward_;
  try {
    observer_.evaluation(progress_.step, evaluate(*model_, *tokenizer_, problems_.held_out, options, exec_, [this] { return interrupted_ && interrupted_() != 0; }));
  } catch (const Error& e) {
    if (e.code() != Exit::interrupted) { throw; }
    stop_if_asked();
  }
}

void Trainer::train() {
  observer_.phase(Phase::train, progress_.step, config_.train.steps);
  const auto evaluation_due = [this] {
    return progress_.step == 0 || progress_.step == config_.train.steps || (config_.eval.every > 0 && progress_.step % config_.eval.every == 0);
  };
  if (progress_.step == 0) { save(); }
  load_reference();
  if (evaluation_due()) { evaluate_now(); }  // also the one that a killed process did not come to
  while (progress_.step < config_.train.steps) {
    stop_if_asked();
    try {
      train_step();
    } catch (const Error& e) {
      if (e.code() != Exit::interrupted) { throw; }
      stop_if_asked();  // sampling was cut short: the step leaves no trace
    }
    const bool last = progress_.step == config_.train.steps;
    if (last || (config_.checkpoint.every > 0 && progress_.step % config_.checkpoint.every == 0)) { save(); }
    if (evaluation_due()) { evaluate_now(); }
  }
}

// The reference policy: a folder, or the weights before the first train step (checkpoint step-000000 is
// always kept).
void Trainer::load_reference() {
  if (reference_ || !needs_reference(*algorithm_, config_)) { return; }
  const std::filesystem::path folder = config_.algorithm.kl_reference.empty() ? checkpoints_ / checkpoint_name({Phase::train, 0, {}, {}, 0, {}})
                                                                              : std::filesystem::path(config_.algorithm.kl_reference);
  reference_ = load_pretrained(folder);
  if (reference_->config().vocab_size < tokenizer_->vocab_size()) {
    fail(Exit::usage, fmt::format("the reference model '{}' has {} token ids, the tokenizer {}", folder.string(), reference_->config().vocab_size, tokenizer_->vocab_size()),
         "algorithm.kl_reference must be a model of the same vocabulary");
  }
  observer_.note(fmt::format("the reference policy is {} (weights {})", folder.filename().string(), reference_->params().hash().substr(0, 16)));
}

// One batch of prompts, or under dynamic sampling as many batches as it takes.
std::vector<Group> Trainer::collect_groups(SampleStats& stats) {
  const auto seed = static_cast<std::uint64_t>(config_.run.seed);
  const RolloutConfig& r = config_.rollout;
  SamplerOptions sampling = sampler_options(config_, *tokenizer_, r.temperature);
  sampling.topk = algorithm_->traits().topk;
  apply_mismatch(mismatch_options(config_), sampling);
  GenerateOptions generate{sampling, r.group_size, rng::Key::of(seed, rng::Stream::rollout).derive(static_cast<std::uint64_t>(progress_.step)), 0, problems_.format.get()};
  DynamicSampling filter({.prompts = r.prompts_per_step, .max_batches = r.dynamic_max_batches});
  std::vector<Group> kept;
  Index next = progress_.examples;
  do {
    std::vector<data::Example> examples;
    for (Index i = 0; i < r.prompts_per_step; ++i) { examples.push_back(problems_.task->train_example(seed, next++)); }
    SampleStats batch;
    std::vector<Group> groups = generate_groups(rollout_policy_->model(), *tokenizer_, examples, generate, exec_, &batch, [this] { return interrupted_ && interrupted_() != 0; });
    generate.first_prompt += r.prompts_per_step;
    stats.prompt_tokens += batch.prompt_tokens;
    stats.new_tokens += batch.new_tokens;
    stats.decode_steps += batch.decode_steps;
    score_groups(groups, reward_, exec_.threads);
    if (!r.dynamic_sampling) {
      kept = std::move(groups);
      break;
    }
    for (Group& g : groups) {
      std::vector<double> scores;
      for (const Rollout& rollout : g.rollouts) { scores.push_back(rollout.verdict.score); }
      if (filter.offer(scores)) { kept.push_back(std::move(g)); }
    }
    if (!filter.full()) { filter.end_batch(); }
  } while (!filter.full());
  groups_offered_ = filter.offered();
  groups_all_high_ = filter.all_high();
  groups_all_low_ = filter.all_low();
  progress_.examples = next;  // only a step that is finished counts: nothing above throws from here on
  return kept;
}

std::vector<SequenceLogp> Trainer::score(Decoder& model, std::span<const TrainItem> items, Index topk) {
  std::vector<ScoredSequence> sequences;
  for (const TrainItem& item : items) { sequences.push_back({item.group->prompt, item.rollout->ids, item.rollout->topk_ids}); }
  return score_sequences(model, exec_, sequences, {config_.rollout.temperature, config_.train.tokens_per_micro, false, tokenizer_->vocab_size(), topk});
}

// Advantages, and every log-probability that stays as it is over the updates of the step.
std::vector<TrainItem> Trainer::freeze_anchors(std::span<Group> groups) {
  const AlgorithmConfig& a = config_.algorithm;
  std::vector<TrainItem> items;
  for (const Group& g : groups) {
    for (const Rollout& r : g.rollouts) {
      TrainItem item{&g, &r};
      item.left_out = a.mask_truncated && !r.stopped;
      items.push_back(std::move(item));
    }
  }
  if (reference_) {
    std::vector<std::vector<float>> reference;
    for (SequenceLogp& s : score(*reference_, items, 0)) { reference.push_back(std::move(s.logp)); }
    if (a.kl_in == "reward" && a.kl_coef > 0) {
      const KlEstimator estimator = kl_estimator_from_name(a.kl_estimator);
      set_kl_penalties(groups, reference, a.kl_coef, estimator);
      if (advantage_options(config_).estimator == AdvantageEstimator::reinforce_pp) {
        auto returns = token_returns(groups, reference, a.kl_coef, estimator);
        for (std::size_t i = 0; i < items.size(); ++i) { items[i].token_advantages = std::move(returns[i]); }
      }
    }
    for (std::size_t i = 0; i < items.size(); ++i) { items[i].logp_reference = std::move(reference[i]); }
  }
  set_advantages(groups, advantage_options(config_));
  tripwire::group_advantages(groups, advantage_options(config_));
  if (needs_recomputed(*algorithm_, config_)) {
    auto scores = score(*model_, items, algorithm_->traits().topk);
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].logp_recomputed = std::move(scores[i].logp);
      items[i].topk_logp_recomputed = std::move(scores[i].topk_logp);
    }
  }
  return items;
}

void Trainer::train_step() {
  const Stopwatch whole;
  const RolloutConfig& r = config_.rollout;
  const Stopwatch sampling;
  SampleStats stats;
  std::vector<Group> groups = collect_groups(stats);
  const double sample_s = sampling.seconds();

  const Stopwatch updating;
  const std::vector<TrainItem> items = freeze_anchors(groups);
  const std::size_t updates = static_cast<std::size_t>(config_.train.updates_per_rollout);
  const std::size_t part = items.size() / updates;
  PolicyMetrics all(algorithm_->traits());
  std::vector<Metric> first, last;
  double kl_loss = 0, entropy_loss = 0;
  double loss = 0, norm = 0, norm_max = 0, lr = 0;
  std::uint32_t first_ulp = 0;
  Index trained_tokens = 0;
  LedgerStep line;
  const Stopwatch viewing;
  view_.take(model_->params(), exec_);
  ledger_s_ = viewing.seconds();
  for (std::size_t u = 0; u < updates; ++u) {
    lr = learning_rate_at(train_schedule(config_.train), progress_.step * config_.train.updates_per_rollout + static_cast<Index>(u));
    UpdateOptions options;
    options.loss = loss_options(config_);
    options.micro = {r.temperature, config_.train.tokens_per_micro, true, tokenizer_->vocab_size()};
    options.learning_rate = lr;
    options.expect_ratio_one = u == 0 && rollout_policy_->exact();
    options.end_tokens = tokenizer_->end_tokens();
    options.gradients = gradient_hashes(line);
    PolicyMetrics metrics(algorithm_->traits());
    const auto mini = std::span(items).subspan(u * part, part);
    const UpdateReport report = update_policy(*model_, *optimizer_, *algorithm_, mini, options, exec_, metrics, [&](const SequenceOutcome& o) {
      observer_.sequence(progress_.step + 1, static_cast<Index>(u), mini[o.index], o);
    });
    if (u == 0) { first_ulp = report.logp_ulp_max; }
    rollout_policy_->updated();
    all.merge(metrics);
    if (u == 0 && !rollout_policy_->exact()) { first = metrics.finish(); }
    kl_loss += report.kl_loss / static_cast<double>(updates);
    entropy_loss += report.entropy_loss / static_cast<double>(updates);
    if (u + 1 == updates) { last = metrics.finish(); }
    loss += report.loss / static_cast<double>(updates);
    norm += report.optimizer.grad_norm / static_cast<double>(updates);
    norm_max = std::max(norm_max, report.optimizer.grad_norm);
    trained_tokens += report.micro.tokens;
  }
  const double update_s = updating.seconds();
  ++progress_.step;
  saved_ = false;
  const Stopwatch comparing;
  line.bf16_changed = view_.changed(model_->params(), exec_);
  ledger_s_ += comparing.seconds();
  const auto bf16_changed = static_cast<double>(std::accumulate(line.bf16_changed.begin(), line.bf16_changed.end(), Index{0}));
  if (observer_.wants_ledger()) {
    line.examples = hash_examples(groups);
    line.rollouts = hash_rollouts(groups);
    line.rewards = hash_rewards(groups);
    line.advantages = hash_advantages(items);
    finish_ledger(line);
  }

  const RolloutSummary s = summarize(groups);
  StepRecord record{Phase::train, progress_.step, config_.train.steps, {}, whole.seconds()};
  auto& m = record.metrics;
  m = {{"reward/mean", s.reward_mean, "", "mean over the step's completions, after truncation rules"},
       {"reward/std", s.reward_std, "", "over the step's completions, n - 1"},
       {"reward/group_std_mean", s.group_std_mean, "", "standard deviation of the rewards of a group, n - 1, mean over groups"},
       {"rollout/length_mean", s.length_mean, "tokens", "end token included"},
       {"rollout/length_max", s.length_max, "tokens", ""},
       {"rollout/truncated_frac", s.truncated_frac, "", "completions without an end token / completions"},
       {"rollout/answered_frac", s.answered_frac, "", "completions in which the reward found an answer / completions"},
       {"reward/undecided_frac", s.undecided_frac, "", "completions that the reward could not judge within its bounds (they score 0) / completions"},
       {"rollout/zero_variance_frac", s.zero_variance_frac, "", "groups whose rewards are all equal / groups"},
       {"rollout/duplicate_frac", s.duplicate_frac, "", "completions equal to an earlier one of their group / completions"},
       {"train/loss", loss, "", "aggregated loss, mean over the step's updates"},
       {"train/grad_norm", norm, "", "global norm before clipping, mean over the step's updates"},
       {"train/grad_norm_max", norm_max, "", "its maximum over the step's updates"},
       {"train/lr", lr, "per update", "learning rate of the last update"},
       {"update/bf16_changed_share", bf16_changed / static_cast<double>(model_->params().numel()), "", "weights whose bf16 form the step's updates changed / weights"},
  };
  m.push_back({"audit/logp_ulp_max", static_cast<double>(first_ulp), "ulp", "largest distance of log pi and log mu, in fp32 numbers, over the trained tokens of the first update"});
  if (config_.algorithm.kl_coef > 0 && config_.algorithm.kl_in == "loss") { m.push_back({"train/kl_loss", kl_loss, "", "kl_coef times the aggregated penalty, mean over the step's updates; part of train/loss"}); }
  if (config_.algorithm.kl_coef > 0 && config_.algorithm.kl_in == "reward") { m.push_back({"reward/kl_penalty_mean", s.kl_penalty_mean, "", "mean over completions of what was subtracted from the reward before advantages"}); }
  if (config_.algorithm.entropy_coef != 0) { m.push_back({"train/entropy_loss", entropy_loss, "", "-entropy_coef times the aggregated entropy, mean over the step's updates; part of train/loss"}); }
  if (r.dynamic_sampling) {
    const auto offered = static_cast<double>(groups_offered_);
    m.push_back({"rollout/prompts_sampled", offered, "", "prompts sampled until prompts_per_step of them had differing scores"});
    m.push_back({"rollout/all_high_frac", static_cast<double>(groups_all_high_) / offered, "", "of these: dropped because every completion had the best score"});
    m.push_back({"rollout/all_low_frac", static_cast<double>(groups_all_low_) / offered, "", "of these: dropped because every completion had the worst score"});
  }
  for (Metric& metric : all.finish()) {
    metric.key = "policy/" + metric.key;
    m.push_back(std::move(metric));
  }
  if (!rollout_policy_->exact()) {  // what the engines disagree on before any update (DPPO paper, section 5)
    for (const Metric& metric : first) {
      if (metric.key == "prob_absdiff_mean" || metric.key == "prob_diff_max" || metric.key == "prob_diff_min" || metric.key == "approx_kl" ||
          metric.key == "rollout_replay_logp_absdiff_mean" || metric.key == "rollout_replay_logp_absdiff_max") {
        m.push_back({"first_update/" + metric.key, metric.value, metric.unit, metric.definition + "; of the step's first update alone: the mismatch of the engines"});
      }
    }
  }
  for (const Metric& metric : last) {
    if (metric.key == "ratio_max" || metric.key == "approx_kl" || metric.key == "ratio_mean") {
      m.push_back({"last_update/" + metric.key, metric.value, metric.unit, metric.definition + "; of the step's last update alone"});
    }
  }
  m.push_back({"perf/sample_tokens_per_s", static_cast<double>(stats.new_tokens) / sample_s, "tokens/s", "new tokens over the time of sampling"});
  m.push_back({"perf/train_tokens_per_s", static_cast<double>(trained_tokens) / update_s, "tokens/s", "trained tokens, prompts included, over the time of all updates"});
  m.push_back({"perf/ledger_s", ledger_s_, "s", "of which: hashes for the ledger and the bf16 view"});
  m.push_back({"perf/step_s", record.seconds, "s", "wall-clock time of the step"});
  observer_.rollouts(progress_.step, groups);
  observer_.step(record);
}

}  // namespace minirl::rl
