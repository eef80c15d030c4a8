// minirl rl/run_log.h -- the observer of a training run: metrics, ledger, token trail, rollouts,
// evaluations, progress, report.
#pragma once
#include <set>

#include "rl/event_log.h"
#include "rl/ledger.h"
#include "rl/metric_log.h"
#include "rl/progress_line.h"
#include "rl/report.h"
#include "rl/run_dir.h"
#include "rl/token_trail.h"
#include "rl/trainer.h"

namespace minirl::rl {

class RunLog final : public Observer {
 public:
  RunLog(const RunDir& dir, const LoadedConfig& loaded, int threads);

  /// Forgets what was written after `progress`, from where a resumed run goes on: the steps are
  /// made again.
  void rewind(const Progress& progress);
  /// Draws report.html from what is there.
  void write_report();

  void phase(Phase phase, Index done, Index total) override;
  void step(const StepRecord& record) override;
  bool wants_ledger() const override { return true; }
  void start(const LedgerStart& start) override { ledger_.start(start); }
  void tokenizer(const data::Tokenizer& tokenizer) override { trail_.set_tokenizer(tokenizer); }
  void sequence(Index step, Index update, const TrainItem& item,
                const SequenceOutcome& outcome) override {
    trail_.sequence(step, update, item, outcome);
  }
  void ledger(const LedgerStep& step) override { ledger_.add(step); }
  void rollouts(Index step, std::span<const Group> groups) override;
  void evaluation(Index step, const EvalResult& result) override;
  bool has_evaluation(Index step) override;
  void checkpoint(const std::filesystem::path& directory) override;
  void note(const std::string& message) override;

 private:
  void write_header(const LoadedConfig& loaded, int threads);
  /// To metrics.jsonl and the event files.
  void write_metrics(const std::string& kind, Index step, const TaggedValues& values);
  const RunDir& dir_;
  MetricLog metrics_;
  Ledger ledger_;
  TokenTrail trail_;
  EventLog events_;
  bool tensorboard_;
  std::string aliases_;
  ProgressLine line_;
  std::unique_ptr<OpenRuns> view_;  // kept, so that a report reads only what is new
};

/// One line a rollout: prompt, ids, log mu (9 significant digits: exact), reward and why,
/// advantage.
std::string rollouts_jsonl(Index step, std::span<const Group> groups);

}  // namespace minirl::rl
