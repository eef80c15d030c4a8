// minirl rl/report/metric_table.h -- the numbers of metrics.jsonl as columns, also while a run is
// writing them.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace minirl::rl::report {

/// The rows of one kind: a column has one value a row, NaN where the row has no such number.
struct MetricRows {
  std::vector<double> steps;
  std::map<std::string, std::vector<double>> columns;
};

class MetricTable {
 public:
  explicit MetricTable(std::filesystem::path file) : file_(std::move(file)) {}

  /// Reads the lines that were added since the last call, and everything again where the file was
  /// replaced or is shorter (a resumed run). Returns whether anything is new.
  bool update();

  bool exists() const { return exists_; }
  /// "pretrain", "train" or "eval"; without rows where there are none.
  const MetricRows& rows(const std::string& kind) const;
  Index steps(const std::string& kind) const;                             // the last one; 0: none
  double last(const std::string& kind, const std::string& key) const;     // NaN: none
  double sum(const std::string& kind, const std::string& key) const;      // of the finite ones
  double largest(const std::string& kind, const std::string& key) const;  // NaN: none

  /// Lines that are no JSON object; the one that is being written is not among them.
  Index unreadable() const { return unreadable_; }
  bool unfinished_line() const { return unfinished_; }

 private:
  void add(const std::string& line);
  std::filesystem::path file_;
  std::map<std::string, MetricRows> kinds_;
  std::uintmax_t read_ = 0;  // bytes
  unsigned long inode_ = 0;
  Index unreadable_ = 0;
  bool unfinished_ = false, exists_ = false;
};

}  // namespace minirl::rl::report
