#include "rl/metric_log.h"

#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

namespace minirl::rl {
namespace {

std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct Line {
  std::string text, kind;
  Index step = 0;
};

// Whole lines that are JSON objects; `dropped` says whether something else was there.
std::vector<Line> read_lines(const std::filesystem::path& path, bool& dropped) {
  std::vector<Line> out;
  dropped = false;
  if (!std::filesystem::exists(path)) {
    return out;
  }
  const std::string content = read_file(path);
  for (std::size_t begin = 0; begin < content.size();) {
    const auto end = content.find('\n', begin);
    if (end == std::string::npos) {
      dropped = true;
      break;
    }
    Line line{content.substr(begin, end - begin), "", 0};
    begin = end + 1;
    const auto json = nlohmann::json::parse(line.text, nullptr, false);
    if (!json.is_object()) {
      dropped = true;
      continue;
    }
    line.kind = json.value("kind", std::string());
    line.step = json.value("step", Index{0});
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

MetricRow::MetricRow(std::string_view kind, Index step) : kind_(kind), step_(step) {
  body_ = fmt::format("{{\"kind\": {}, \"step\": {}", quoted(kind), step);
}

MetricRow& MetricRow::put(std::string_view key, double value) {
  if (!std::isfinite(value)) {
    nonfinite_.emplace_back(key);
    body_ += fmt::format(", {}: null", quoted(key));
  } else if (value == std::floor(value) && std::abs(value) < 1e15) {
    body_ += fmt::format(", {}: {:.0f}", quoted(key), value == 0 ? 0.0 : value);
  } else {
    body_ += fmt::format(", {}: {}", quoted(key), value);
  }
  return *this;
}

MetricRow& MetricRow::put(std::string_view key, std::string_view text) {
  body_ += fmt::format(", {}: {}", quoted(key), quoted(text));
  return *this;
}

std::string MetricRow::json() const {
  std::string out = body_;
  if (!nonfinite_.empty()) {
    out += ", \"nonfinite\": " + nlohmann::json(nonfinite_).dump();
  }
  return out + "}";
}

MetricLog::MetricLog(std::filesystem::path path) : path_(std::move(path)) {
  keep_only([](std::string_view, Index) { return true; });
}

void MetricLog::keep_only(const std::function<bool(std::string_view, Index)>& keep) {
  bool changed = false;
  const auto lines = read_lines(path_, changed);
  std::string kept;
  written_.clear();
  for (const Line& line : lines) {
    const bool is_row = line.kind == "pretrain" || line.kind == "train" || line.kind == "eval";
    if (is_row && !keep(line.kind, line.step)) {
      changed = true;
      continue;
    }
    kept += line.text + "\n";
    if (is_row) {
      written_.emplace(line.kind, line.step);
    }
  }
  empty_ = kept.empty();
  file_.reset();
  if (changed) {
    write_file_atomic(path_, kept);
  }
  file_ = std::make_unique<AppendFile>(path_);
}

void MetricLog::write(const MetricRow& row) {
  file_->line(row.json());
  written_.emplace(row.kind(), row.step());
  empty_ = false;
}

void MetricLog::write_header(std::string_view json) {
  if (!empty_) {
    return;
  }
  file_->line(json);
  empty_ = false;
}

bool MetricLog::has(std::string_view kind, Index step) const {
  return written_.count({std::string(kind), step}) != 0;
}

}  // namespace minirl::rl
