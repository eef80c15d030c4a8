// minirl rl/report/live_page.h -- the report of runs that are still being written, for readers who
// ask again and again: the page once, then only the parts that have changed.
#pragma once
#include <chrono>
#include <mutex>

#include "rl/report.h"

namespace minirl::rl::report {

/// May be asked from several threads. Folders are read again at most once in `pause`.
class LivePage {
 public:
  /// Throws Exit::usage where a folder is no run.
  explicit LivePage(const std::vector<std::filesystem::path>& folders,
                    std::chrono::milliseconds pause = std::chrono::milliseconds(1000));

  /// The document, with the script that asks for `/changes?since=VERSION` every two seconds.
  std::string page();

  /// JSON: {"version": TEXT, "sections": [{"id": TEXT, "html": TEXT}, ...]}, the parts that differ
  /// from those of version `since`; {"reload": true} where that is none of ours, or where parts were
  /// added or went.
  std::string changes(const std::string& since);

 private:
  void refresh();
  std::string version(Index number) const;

  std::mutex mutex_;
  OpenRuns runs_;
  std::vector<ReportSection> sections_;
  std::vector<Index> changed_;  // of each section: the version that it is from
  Index version_ = 0, layout_ = 0;  // the newest one, and the one since which the parts are the same
  std::string instance_;            // another process counts anew
  std::chrono::milliseconds pause_;
  std::chrono::steady_clock::time_point read_at_{};
};

}  // namespace minirl::rl::report
