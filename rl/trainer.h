// minirl rl/trainer.h -- the straight line of a run: pretraining, evaluation, then steps of
// sampling, reward, advantage, loss, update.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/task.h"
#include "rl/algorithm.h"
#include "rl/checkpoint.h"
#include "rl/config.h"
#include "rl/evaluator.h"
#include "rl/ledger.h"
#include "rl/policy_update.h"
#include "rl/problems.h"
#include "rl/rollout_policy.h"
#include "rl/schedule.h"
#include "rl/update_visibility.h"

namespace minirl::rl {

/// One finished step, in the order in which its numbers are logged.
struct StepRecord {
  Phase phase = Phase::train;
  Index step = 0;   // finished steps of the phase, from 1
  Index total = 0;  // steps of the phase
  std::vector<Metric> metrics;
  double seconds = 0;
  const Metric* find(std::string_view key) const;
};

/// What the trainer tells to whoever logs, draws and stores. Nothing that an observer does changes a number.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void phase(Phase phase, Index done, Index total) = 0;
  virtual void step(const StepRecord& record) = 0;
  virtual void rollouts(Index step, std::span<const Group> groups) = 0;
  /// One sequence of one update as the loss saw it, before the weights change. `update` counts from 0.
  virtual void sequence(Index /*step*/, Index /*update*/, const TrainItem& /*item*/, const SequenceOutcome& /*outcome*/) {}
  /// Of the run; told once, by the Trainer that is made.
  virtual void tokenizer(const data::Tokenizer& /*tokenizer*/) {}
  /// Are start() and ledger() wanted? They cost a pass over weights, gradients and moments a step.
  virtual bool wants_ledger() const { return false; }
  /// Before the first step of this process: the state that it goes on from.
  virtual void start(const LedgerStart& /*start*/) {}
  /// Hashes of a finished step; told before step() and rollouts().
  virtual void ledger(const LedgerStep& /*step*/) {}
  virtual void evaluation(Index step, const EvalResult& result) = 0;
  /// Is the evaluation of this step on disk already (from before a resume)?
  virtual bool has_evaluation(Index step) = 0;
  virtual void checkpoint(const std::filesystem::path& directory) = 0;
  virtual void note(const std::string& message) = 0;
};

class Trainer {
 public:
  /// `interrupted` is polled between steps and while sampling: 0, or the signal that asks to stop.
  /// `task`: in place of the one that the config names (a replay without the data files).
  Trainer(const LoadedConfig& loaded, std::filesystem::path checkpoints, Observer& observer, std::function<int()> interrupted = {},
          std::unique_ptr<data::Task> task = {});

  /// Continues from the newest whole checkpoint (and says which were skipped and why); from the start if
  /// there is none. Throws Error(usage) if the run is finished or the checkpoint belongs to another config.
  void resume();
  /// Goes on from this checkpoint. Throws Error(usage) if it is damaged or of another configuration.
  void restore(const std::filesystem::path& checkpoint);
  /// One step and nothing else: no evaluation, no checkpoint. After the last pretraining step the next
  /// one is the first train step. For replays.
  void advance();
  /// The state as a checkpoint below `folder`.
  std::filesystem::path save_to(const std::filesystem::path& folder) const;
  /// The state as a chain of hashes begins with it.
  LedgerStart state_hashes();
  /// Runs to the end. On a signal: writes a checkpoint and throws Error(interrupted | terminated).
  void run();

  Decoder& model() { return *model_; }
  const data::Tokenizer& tokenizer() const { return *tokenizer_; }
  const Progress& progress() const { return progress_; }
  const Config& config() const { return config_; }
  const data::Task& task() const { return *problems_.task; }
  /// The reference policy, once it is needed and loaded.
  const Decoder* reference() const { return reference_.get(); }

 private:
  void adopt(const std::filesystem::path& checkpoint, const Progress& progress);
  void pretrain();
  void begin_training();
  void train();
  void pretrain_step();
  void train_step();
  void evaluate_now();
  void save();
  void stop_if_asked();
  void load_reference();
  void finish_ledger(LedgerStep& step);
  GradientWitness gradient_hashes(LedgerStep& step);
  std::vector<Group> collect_groups(SampleStats& stats);
  std::vector<TrainItem> freeze_anchors(std::span<Group> groups);
  std::vector<SequenceLogp> score(Decoder& model, std::span<const TrainItem> items, Index topk);

  const LoadedConfig& loaded_;
  const Config& config_;
  std::filesystem::path checkpoints_;
  Observer& observer_;
  std::function<int()> interrupted_;
  Exec exec_;
  std::unique_ptr<data::Tokenizer> tokenizer_;
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<Decoder> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<RolloutPolicy> rollout_policy_;
  std::unique_ptr<Decoder> reference_;  // where there is a penalty to it
  Problems problems_;
  RewardOptions reward_;  // a reward command is started once and lives as long as this
  Progress progress_;
  Bf16View view_;         // of the weights before the step
  double ledger_s_ = 0;   // seconds of the step that went into hashes
  bool saved_ = false;  // progress_ is on disk
  // Of the last step's dynamic sampling.
  Index groups_offered_ = 0, groups_all_high_ = 0, groups_all_low_ = 0;
};

/// Pieces of a config as the parts of a step take them; also for `eval` and `sample`.
/// On the CPU; rl/device.h knows the others.
Exec make_exec(const RuntimeConfig& runtime);
SamplerOptions sampler_options(const Config& config, const data::Tokenizer& tokenizer, double temperature);
RewardOptions reward_options(const Config& config);
/// The model that a run starts from. `note` is told about once a second how far a large checkpoint is read.
std::unique_ptr<Decoder> initial_model(const Config& config, const data::Tokenizer& tokenizer,
                                       const std::function<void(const std::string&)>& note = {});
/// The AdamW of a phase, with fresh moments.
std::unique_ptr<Optimizer> make_optimizer(const Config& config, Phase phase, Params& params);

}  // namespace minirl::rl
