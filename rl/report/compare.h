// minirl rl/report/compare.h -- what several runs have in common and where they part.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl/report/run_view.h"

namespace minirl::rl::report {

/// How far the ledgers of two runs agree, hash by hash in the order in which a step makes them.
struct Agreement {
  struct Place {
    Phase phase = Phase::train;
    Index step = 0;
  };
  std::optional<Place> equal_until;  // the last common step before a difference
  std::optional<Place> differs_at;   // none: all common steps are equal
  std::string part;                  // "rewards", "gradients of update 2", "initial weights", ...
  Index common_steps = 0;            // up to the difference
  std::string note;                  // a ledger that is missing, or damaged from some line on
  bool identical() const { return common_steps > 0 && !differs_at && note.empty(); }
  /// "bit-identical up to step 412, first difference: rewards at step 413"
  std::string words() const;
};
Agreement compare_ledgers(const std::filesystem::path& a, const std::filesystem::path& b);

/// One key whose value is not the same in all runs; "-": a run does not have it.
struct SettingDifference {
  std::string key;
  std::vector<std::string> values;
  bool changes_results = false;
};
/// Keys that change results first. Names and folders of runs are no difference.
std::vector<SettingDifference> setting_differences(const std::vector<const RunView*>& runs);

/// avg@k of the last evaluation of b minus that of a, with its interval; none unless both were
/// about the same two or more problems.
std::optional<Interval> evaluation_difference(const RunView& a, const RunView& b);

std::string comparison_text(const std::vector<const RunView*>& runs);
std::string comparison_json(const std::vector<const RunView*>& runs);
/// The parts of a page: settings that differ, agreement with the first run, last metrics.
std::string comparison_html(const std::vector<const RunView*>& runs);

}  // namespace minirl::rl::report
