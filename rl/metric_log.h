// minirl rl/metric_log.h -- metrics.jsonl: one JSON object a line, one line a step
// (docs/formats.md).
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.h"

namespace minirl::rl {

/// One line. Numbers are written with the fewest digits that read back to the same double; NaN and
/// the infinities, which JSON does not have, become null and are named under "nonfinite".
class MetricRow {
 public:
  /// `kind`: "pretrain", "train" or "eval"; `step` counts finished steps of that phase.
  MetricRow(std::string_view kind, Index step);
  MetricRow& put(std::string_view key, double value);
  MetricRow& put(std::string_view key, std::string_view text);
  std::string kind() const { return kind_; }
  Index step() const { return step_; }
  std::string json() const;

 private:
  std::string kind_;
  Index step_;
  std::string body_;
  std::vector<std::string> nonfinite_;
};

class MetricLog {
 public:
  /// Opens or creates the file. A last line that a killed process left unfinished is removed.
  explicit MetricLog(std::filesystem::path path);

  /// Removes the rows that `keep(kind, step)` does not want: those of steps after the one that a
  /// resumed run starts from. The file is replaced atomically, and only if something is removed.
  void keep_only(const std::function<bool(std::string_view kind, Index step)>& keep);

  /// Appends a row. Rows of one kind and step are written once: has() tells.
  void write(const MetricRow& row);
  /// A first line of any content, e.g. the run's header; written only into an empty file.
  void write_header(std::string_view json);
  bool has(std::string_view kind, Index step) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<AppendFile> file_;
  std::set<std::pair<std::string, Index>, std::less<>> written_;
  bool empty_ = true;
};

}  // namespace minirl::rl
