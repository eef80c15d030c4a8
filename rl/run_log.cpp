#include "rl/run_log.h"

#include <chrono>

#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "core/files.h"
#include "rl/metric_aliases.h"
#include "rl/report.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const char* kind_of(Phase phase) {
  return phase == Phase::pretrain ? "pretrain" : "train";
}

// Pretraining and training both count steps from 1: the tags of their common fields must differ.
std::string tag_of(const std::string& kind, const std::string& key) {
  const bool plain = kind == "pretrain" && !key.starts_with("pretrain/");
  return (plain ? "pretrain/" : "") + key;
}

// The kind of line that a tag belongs to.
std::string_view kind_of(std::string_view tag) {
  return tag.starts_with("pretrain/") ? "pretrain" : tag.starts_with("eval/") ? "eval" : "train";
}

// "18.4k"
std::string rounded(double n) {
  return n >= 10000 ? fmt::format("{:.1f}k", n / 1000) : fmt::format("{:.0f}", n);
}

std::string progress_text(const StepRecord& record) {
  std::string out;
  const auto add = [&](std::string_view key, std::string_view name, const char* format) {
    const Metric* m = record.find(key);
    if (m != nullptr) {
      out += (out.empty() ? "" : "  ") + std::string(name) + " " +
             fmt::format(fmt::runtime(format), m->value);
    }
  };
  if (record.phase == Phase::pretrain) {
    add("pretrain/loss", "loss", "{:.4f}");
  } else {
    add("reward/mean", "reward", "{:.3f}");
    add("train/loss", "loss", "{:+.5f}");
    add("policy/approx_kl", "KL", "{:.5f}");
    add("policy/entropy", "entropy", "{:.3f}");
  }
  const Metric* rate = record.find("perf/tokens_per_s");
  if (rate == nullptr) {
    rate = record.find("perf/train_tokens_per_s");
  }
  if (rate != nullptr) {
    out += fmt::format("  {} tok/s", rounded(rate->value));
  }
  return out;
}

// Removes files named step-NNNNNN.* of steps that `drop` wants gone.
template <class Drop>
void remove_steps(const fs::path& folder, const Drop& drop) {
  std::vector<fs::path> gone;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename().string();
    const std::string name = file.substr(0, file.find('.'));
    if (name.rfind("step-", 0) == 0 &&
        name.find_first_not_of("0123456789", 5) == std::string::npos && name.size() > 5 &&
        name.size() < 20 && drop(static_cast<Index>(std::stoll(name.substr(5))))) {
      gone.push_back(entry.path());
    }
  }
  for (const auto& path : gone) {
    fs::remove(path, ignored);
  }
}

}  // namespace

std::string rollouts_jsonl(Index step, std::span<const Group> groups) {
  std::string out;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    for (std::size_t s = 0; s < group.rollouts.size(); ++s) {
      const Rollout& r = group.rollouts[s];
      const Json head = {{"step", step},
                         {"group", g},
                         {"sample", s},
                         {"example", group.example.id},
                         {"prompt", group.example.prompt},
                         {"answer", group.example.answer},
                         {"text", r.text},
                         {"stopped", r.stopped},
                         {"reward", r.reward},
                         {"score", r.verdict.score},
                         {"extracted", r.verdict.extracted},
                         {"why", r.verdict.why},
                         {"advantage", r.advantage},
                         {"prompt_ids", group.prompt},
                         {"ids", r.ids}};
      std::string line = head.dump(-1, ' ', false, Json::error_handler_t::replace);
      line.back() = ',';
      line += " \"logp\": [";
      for (std::size_t t = 0; t < r.logp.size(); ++t) {
        line += fmt::format("{}{:.9g}", t == 0 ? "" : ", ", r.logp[t]);
      }
      out += line + "]}\n";
    }
  }
  return out;
}

RunLog::RunLog(const RunDir& dir, const LoadedConfig& loaded, int threads)
    : dir_(dir),
      metrics_(dir.metrics()),
      ledger_(dir.ledger(), loaded.results_hash(), build_info()),
      trail_(loaded.config, dir.root() / "tokens"),
      events_(dir.root()),
      tensorboard_(loaded.config.runtime.tensorboard),
      aliases_(loaded.config.audit.metric_aliases),
      line_(loaded.config.runtime.progress, stderr) {
  write_header(loaded, threads);
}

void RunLog::write_header(const LoadedConfig& loaded, int threads) {
  Json config = Json::object();
  for (const auto& k : loaded.keys) {
    config[k.key] = k.toml;
  }
  Json build = Json::object();
  for (const auto& [key, value] : build_info()) {
    build[key] = value;
  }
  const Json header = {{"kind", "run"},
                       {"format", 1},
                       {"config_sha256", loaded.hash()},
                       {"results_sha256", loaded.results_hash()},
                       {"build", build},
                       {"device", "cpu"},
                       {"simd", name(active_isa())},
                       {"threads", threads},
                       {"config_toml", config}};
  metrics_.write_header(header.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void RunLog::rewind(const Progress& progress) {
  const bool training = progress.phase == Phase::train;
  const auto keep = [&](std::string_view kind, Index step) {
    if (kind == "pretrain") {
      return training || step <= progress.step;
    }
    return training && step <= progress.step && (kind == "train" || has_evaluation(step));
  };
  metrics_.keep_only(keep);
  events_.keep_only([&](std::string_view tag, Index step) { return keep(kind_of(tag), step); });
  ledger_.rewind(progress);
  const auto later = [&](Index step) { return !training || step > progress.step; };
  remove_steps(dir_.root() / "rollouts", later);
  remove_steps(dir_.root() / "eval", later);
  remove_steps(dir_.root() / "tokens", later);
}

void RunLog::write_report() {
  if (view_ == nullptr) {
    view_ = std::make_unique<OpenRuns>(std::vector{dir_.root()});
  } else {
    view_->refresh();
  }
  write_file_atomic(dir_.report(), report_html(*view_));
}

void RunLog::phase(Phase phase, Index done, Index total) {
  line_.start(kind_of(phase), done, total);
}

void RunLog::write_metrics(const std::string& kind, Index step, const TaggedValues& values) {
  MetricRow row(kind, step);
  TaggedValues tagged;
  for (const auto& [key, value] : values) {
    row.put(key, value);
    tagged.emplace_back(tag_of(kind, key), value);
  }
  metrics_.write(row);
  if (tensorboard_) {
    using Seconds = std::chrono::duration<double>;
    const Seconds now = std::chrono::system_clock::now().time_since_epoch();
    events_.write(now.count(), step, tagged);
  }
}

void RunLog::step(const StepRecord& record) {
  if (const Metric* loss = record.find("train/loss"); loss != nullptr) {
    trail_.finish(record.step, loss->value);
  }
  TaggedValues values;
  for (const Metric& m : record.metrics) {
    values.emplace_back(m.key, m.value);
  }
  values.emplace_back("perf/memory_bytes", static_cast<double>(resident_bytes()));
  if (record.phase == Phase::train) {
    for (const Metric& m : metric_aliases(aliases_, record.metrics)) {
      values.emplace_back(m.key, m.value);
    }
  }
  write_metrics(kind_of(record.phase), record.step, values);
  line_.step(record.step, progress_text(record));
}

void RunLog::rollouts(Index step, std::span<const Group> groups) {
  write_file_atomic(dir_.rollouts(step), rollouts_jsonl(step, groups));
}

void RunLog::evaluation(Index step, const EvalResult& result) {
  // The row first: a process killed between the two evaluates again and finds its row written.
  if (!metrics_.has("eval", step)) {
    TaggedValues values = {{"eval/problems", static_cast<double>(result.problems)},
                           {"eval/samples", static_cast<double>(result.samples)}};
    for (const auto& [key, interval] :
         {std::pair("eval/avg_at_k", &result.average), std::pair("eval/pass_at_k", &result.pass)}) {
      values.emplace_back(key, interval->value);
      values.emplace_back(fmt::format("{}_lower", key), interval->lower);
      values.emplace_back(fmt::format("{}_upper", key), interval->upper);
    }
    values.emplace_back("eval/length_mean", result.length_mean);
    values.emplace_back("eval/truncated_frac", result.truncated_frac);
    values.emplace_back("eval/answered_frac", result.answered_frac);
    write_metrics("eval", step, values);
  }
  write_file_atomic(dir_.evaluation(step), eval_json(result, step));
  line_.note(fmt::format("evaluation at step {}: avg@{} {:.3f} [{:.3f}, {:.3f}], pass@{} {:.3f}",
                         step, result.samples, result.average.value, result.average.lower,
                         result.average.upper, result.samples, result.pass.value));
}

bool RunLog::has_evaluation(Index step) {
  return fs::exists(dir_.evaluation(step));
}

void RunLog::checkpoint(const fs::path& directory) {
  ledger_.sync();
  write_report();
  line_.note(fmt::format("checkpoint {}", directory.filename().string()));
}

void RunLog::note(const std::string& message) {
  line_.note(message);
}

}  // namespace minirl::rl
