#include "rl/report/metric_table.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace minirl::rl::report {
namespace {

using Json = nlohmann::json;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool MetricTable::update() {
  struct stat now = {};
  exists_ = ::stat(file_.c_str(), &now) == 0;
  const auto size = exists_ ? static_cast<std::uintmax_t>(now.st_size) : 0;
  bool changed = false;
  if (size < read_ || (exists_ && read_ > 0 && now.st_ino != inode_)) {
    *this = MetricTable(file_);
    exists_ = size > 0;
    changed = true;
  }
  inode_ = now.st_ino;
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(read_));
  unfinished_ = false;
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) {  // no end yet
      unfinished_ = true;
      break;
    }
    read_ += line.size() + 1;
    add(line);
    changed = true;
  }
  return changed;
}

void MetricTable::add(const std::string& line) {
  const Json row = Json::parse(line, nullptr, false);
  if (!row.is_object() || !row.contains("kind") || !row["kind"].is_string()) {
    unreadable_ += 1;
    return;
  }
  if (!row.contains("step") || !row["step"].is_number()) {
    return;  // the header
  }
  MetricRows& rows = kinds_[row["kind"].get<std::string>()];
  rows.steps.push_back(row["step"].get<double>());
  for (const auto& item : row.items()) {
    if (item.value().is_number() && item.key() != "step") {
      std::vector<double>& column = rows.columns[item.key()];
      column.resize(rows.steps.size(), kNaN);
      column.back() = item.value().get<double>();
    }
  }
  for (auto& [key, column] : rows.columns) {
    column.resize(rows.steps.size(), kNaN);
  }
}

const MetricRows& MetricTable::rows(const std::string& kind) const {
  static const MetricRows nothing;
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? nothing : found->second;
}

Index MetricTable::steps(const std::string& kind) const {
  const MetricRows& all = rows(kind);
  return all.steps.empty() ? 0 : static_cast<Index>(all.steps.back());
}

double MetricTable::last(const std::string& kind, const std::string& key) const {
  const MetricRows& all = rows(kind);
  const auto found = all.columns.find(key);
  return found == all.columns.end() || found->second.empty() ? kNaN : found->second.back();
}

double MetricTable::sum(const std::string& kind, const std::string& key) const {
  double total = 0;
  const MetricRows& all = rows(kind);
  if (const auto found = all.columns.find(key); found != all.columns.end()) {
    for (const double v : found->second) {
      total += std::isfinite(v) ? v : 0;
    }
  }
  return total;
}

double MetricTable::largest(const std::string& kind, const std::string& key) const {
  double most = kNaN;
  const MetricRows& all = rows(kind);
  if (const auto found = all.columns.find(key); found != all.columns.end()) {
    for (const double v : found->second) {
      most = std::isfinite(v) && !(v <= most) ? v : most;
    }
  }
  return most;
}

}  // namespace minirl::rl::report
