#include "rl/report/run_view.h"

#include <algorithm>
#include <fstream>

#include "core/files.h"
#include "rl/run_dir.h"

namespace minirl::rl::report {
namespace {

namespace fs = std::filesystem;

// Size and time of a file; empty: it is not there.
std::string state_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) {
    return "";
  }
  const auto time = fs::last_write_time(file, error).time_since_epoch().count();
  return fmt::format("{} {}", size, time);
}

// The files step-*END of a folder, by name. Numbers have six digits or more.
std::vector<fs::path> step_files(const fs::path& folder, const std::string& end) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("step-", 0) == 0 && name.ends_with(end)) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string();
    const std::string y = b.filename().string();
    return std::pair(x.size(), x) < std::pair(y.size(), y);
  });
  return out;
}

// First line of what Error says.
std::string reason(const Error& error) {
  const std::string what = error.what();
  return what.substr(0, what.find('\n'));
}

std::string seedless_settings(const RunView& run) {
  if (!run.config()) {
    return run.folder().string();  // unlike any other
  }
  std::string out;
  for (const ResolvedKey& k : run.config()->keys) {
    if (k.changes_results && k.key != "run.seed") {
      out += k.key + "=" + k.toml + "\n";
    }
  }
  return out;
}

}  // namespace

RunView::RunView(fs::path folder)
    : folder_(std::move(folder)),
      name_(fs::weakly_canonical(folder_).filename().string()),
      metrics_(folder_ / "metrics.jsonl") {
  if (!is_run(folder_)) {
    fail(Exit::usage, fmt::format("'{}' is not a run of minirl", folder_.string()),
         "name the folder that holds config.resolved.toml");
  }
}

bool RunView::refresh() {
  bool changed = read_config();
  changed = metrics_.update() || changed;
  changed = read_evaluations() || changed;
  changed = read_ledger_head() || changed;
  return list_trails() || changed;
}

bool RunView::read_config() {
  const fs::path file = folder_ / "config.resolved.toml";
  const std::string state = state_of(file);
  if (state == seen_[file]) {
    return false;
  }
  seen_[file] = state;
  damaged_.erase(file);
  try {
    config_ = load_config({ConfigSource::file(file.string())});
  } catch (const Error& error) {
    config_.reset();
    damaged_[file] = reason(error);
  }
  return true;
}

bool RunView::read_evaluations() {
  bool changed = false;
  const std::vector<fs::path> files = step_files(folder_ / "eval", ".json");
  std::vector<Evaluation> kept;
  for (Evaluation& e : evaluations_) {  // a resumed run takes back the later ones
    const fs::path file = folder_ / "eval" / fmt::format("step-{:06}.json", e.step);
    if (std::find(files.begin(), files.end(), file) != files.end() &&
        state_of(file) == seen_[file]) {
      kept.push_back(std::move(e));
    } else {
      changed = true;
      seen_.erase(file);
    }
  }
  evaluations_ = std::move(kept);
  for (const fs::path& file : files) {
    const std::string state = state_of(file);
    if (state == seen_[file]) {
      continue;
    }
    seen_[file] = state;
    damaged_.erase(file);
    changed = true;
    try {
      Evaluation e = parse_evaluation(read_file(file), file.filename().string());
      for (std::size_t i = kShownProblems; i < e.rows.size(); ++i) {
        for (SampleRow& s : e.rows[i].samples) {
          s.text = s.extracted = s.why = "";
        }
      }
      evaluations_.push_back(std::move(e));
    } catch (const Error& error) {
      damaged_[file] = reason(error);
    }
  }
  std::sort(evaluations_.begin(), evaluations_.end(),
            [](const Evaluation& a, const Evaluation& b) { return a.step < b.step; });
  return changed;
}

// The last whole line, found from the end: a ledger may be long.
bool RunView::read_ledger_head() {
  const fs::path file = folder_ / "ledger.jsonl";
  const std::string state = state_of(file);
  if (state == seen_[file]) {
    return false;
  }
  seen_[file] = state;
  damaged_.erase(file);
  head_.reset();
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  for (std::streamoff wanted = 1 << 16; size > 0; wanted *= 4) {
    const std::streamoff begin = std::max<std::streamoff>(0, size - wanted);
    std::string tail(static_cast<std::size_t>(size - begin), '\0');
    in.seekg(begin);
    in.read(tail.data(), size - begin);
    const auto end = tail.rfind('\n');
    const auto before = end == std::string::npos || end == 0 ? end : tail.rfind('\n', end - 1);
    if (end == std::string::npos || (before == std::string::npos && begin > 0)) {
      if (begin == 0) {
        break;
      }
      continue;  // the line is longer than what was read
    }
    const auto start = before == std::string::npos ? 0 : before + 1;
    try {
      head_ = parse_ledger_line(tail.substr(start, end - start), 0);
    } catch (const Error&) {
      damaged_[file] = "its last line is damaged: minirl verify ledger says more";
    }
    break;
  }
  return true;
}

bool RunView::list_trails() {
  std::vector<fs::path> now = step_files(folder_ / "tokens", ".jsonl.zst");
  const bool changed = now != trails_;
  trails_ = std::move(now);
  return changed;
}

bool RunView::finished() const {
  return config_ && metrics_.steps("train") >= config_->config.train.steps &&
         metrics_.steps("pretrain") >=
             (config_->config.train.steps > 0 ? 0 : config_->config.pretrain.steps);
}

std::vector<std::string> RunView::notes() const {
  std::vector<std::string> out;
  const Index done = metrics_.steps("train");
  if (!metrics_.exists()) {
    out.push_back("metrics.jsonl is not there: there are no curves and no costs");
  } else if (metrics_.rows("train").steps.empty()) {
    out.push_back(metrics_.rows("pretrain").steps.empty()
                      ? "no step is finished yet"
                      : fmt::format("no train step is finished yet; {} updates of pretraining are",
                                    metrics_.steps("pretrain")));
  }
  if (config_ && !finished() && done > 0) {
    out.push_back(fmt::format("not finished: step {} of {}", done, config_->config.train.steps));
  }
  if (metrics_.unfinished_line()) {
    out.push_back("the last line of metrics.jsonl has no end yet and is left out");
  }
  if (metrics_.unreadable() > 0) {
    out.push_back(fmt::format("{} lines of metrics.jsonl cannot be read and are left out",
                              metrics_.unreadable()));
  }
  for (const auto& [file, why] : damaged_) {
    out.push_back(fmt::format("{} is left out: {}", file.filename().string(), why));
  }
  return out;
}

std::vector<RunGroup> group_by_seed(const std::vector<const RunView*>& runs) {
  std::vector<RunGroup> out;
  std::vector<std::string> settings;
  for (const RunView* run : runs) {
    const std::string own = seedless_settings(*run);
    const auto found = std::find(settings.begin(), settings.end(), own);
    if (found == settings.end()) {
      settings.push_back(own);
      out.push_back({run->name(), {run}});
    } else {
      out[static_cast<std::size_t>(found - settings.begin())].runs.push_back(run);
    }
  }
  for (RunGroup& g : out) {
    if (g.runs.size() > 1) {
      g.name = fmt::format("{} and {} more seeds", g.name, g.runs.size() - 1);
    }
  }
  return out;
}

}  // namespace minirl::rl::report
