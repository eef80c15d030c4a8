// minirl rl/report/run_view.h -- what a run's folder says about the run, also while it is written.
// Whatever is missing, half written or damaged becomes a note instead of an error.
#pragma once
#include <map>
#include <optional>

#include "rl/config.h"
#include "rl/ledger.h"
#include "rl/report/metric_table.h"
#include "rl/summary.h"

namespace minirl::rl::report {

class RunView {
 public:
  /// Throws Exit::usage where `folder` is not a run. Reads nothing else before refresh().
  explicit RunView(std::filesystem::path folder);

  /// Reads what is new. Returns whether anything is.
  bool refresh();

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& name() const { return name_; }
  const MetricTable& metrics() const { return metrics_; }
  /// By step. Of all but the first kShownProblems problems only the rewards are kept.
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  const std::optional<LoadedConfig>& config() const { return config_; }
  /// The newest line that is whole.
  const std::optional<LedgerLine>& ledger_head() const { return head_; }
  /// Files of tokens/, by step.
  const std::vector<std::filesystem::path>& trails() const { return trails_; }
  /// What a reader must know: unfinished, missing, left out. One sentence each.
  std::vector<std::string> notes() const;
  bool finished() const;

  static constexpr std::size_t kShownProblems = 6;

 private:
  bool read_config();
  bool read_evaluations();
  bool read_ledger_head();
  bool list_trails();
  std::filesystem::path folder_;
  std::string name_;
  MetricTable metrics_;
  std::vector<Evaluation> evaluations_;
  std::map<std::filesystem::path, std::string> seen_;  // file: its size and time, when it was read
  std::map<std::filesystem::path, std::string> damaged_;  // file: why it was left out
  std::optional<LoadedConfig> config_;
  std::optional<LedgerLine> head_;
  std::vector<std::filesystem::path> trails_;
};

/// Runs that differ in nothing that changes results, but in run.seed.
struct RunGroup {
  std::string name;
  std::vector<const RunView*> runs;
};
/// In the order of their first runs; a group of one has the name of its run.
std::vector<RunGroup> group_by_seed(const std::vector<const RunView*>& runs);

}  // namespace minirl::rl::report
