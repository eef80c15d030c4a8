#include "rl/report/sheet.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "rl/html_text.h"
#include "rl/plan.h"
#include "rl/progress_line.h"

namespace minirl::rl::report {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSourceBytes = 60000;

// Rows of a table with one column a run.
class Table {
 public:
  Table(const std::vector<const RunView*>& runs, std::string label)
      : runs_(runs), label_(std::move(label)) {}
  /// `value(run)`: plain text; empty: unknown. A row that no run knows is left out.
  template <class F>
  void row(const std::string& name, F value, bool code = false) {
    std::string cells;
    bool any = false;
    for (const RunView* run : runs_) {
      const std::string text = value(*run);
      any = any || !text.empty();
      const std::string shown = text.empty() ? "-" : html_visible(text, 500);
      cells += "<td>" + (code && !text.empty() ? "<code>" + shown + "</code>" : shown) + "</td>";
    }
    rows_ += any ? "<tr><th scope=\"row\">" + name + "</th>" + cells + "</tr>" : "";
  }
  std::string html() const {
    std::string head;
    for (const RunView* run : runs_) {
      head += "<th>" + html_visible(run->name(), 80) + "</th>";
    }
    return fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table "
        "class=\"results\">{}{}</table></div>",
        label_, runs_.size() > 1 ? "<tr><td></td>" + head + "</tr>" : "", rows_);
  }

 private:
  const std::vector<const RunView*>& runs_;
  std::string label_, rows_;
};

// The newest start of env.json; null where there is none.
Json last_start(const RunView& run) {
  try {
    const Json doc = Json::parse(read_file(run.folder() / "env.json"), nullptr, false);
    if (doc.is_object() && doc.contains("starts") && doc["starts"].is_array() &&
        !doc["starts"].empty()) {
      return doc["starts"].back();
    }
  } catch (const Error&) {
  }  // not there any more
  return Json::object();
}

std::string text_at(const Json& json, const char* group, const char* key) {
  const Json* at = &json;
  for (const char* name : {group, key}) {
    if (!at->is_object() || !at->contains(name)) {
      return "";
    }
    at = &(*at)[name];
  }
  return at->is_string() ? at->get<std::string>()
                         : at->dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string finite(double v, const char* format) {
  return std::isfinite(v) ? fmt::format(fmt::runtime(format), v) : std::string();
}

double seconds(const RunView& run, const char* kind) {
  return run.metrics().sum(kind, "perf/step_s");
}

// Sampled tokens over tokens per second, summed over the steps. NaN: unknown.
double sampling_seconds(const RunView& run) {
  const MetricRows& rows = run.metrics().rows("train");
  const auto rate = rows.columns.find("perf/sample_tokens_per_s");
  const auto length = rows.columns.find("rollout/length_mean");
  if (rate == rows.columns.end() || length == rows.columns.end() || !run.config()) {
    return std::nan("");
  }
  double out = 0;
  for (std::size_t i = 0; i < rows.steps.size(); ++i) {
    const double tokens =
        length->second[i] * static_cast<double>(run.config()->config.completions_per_step());
    out += std::isfinite(tokens / rate->second[i]) ? tokens / rate->second[i] : 0;
  }
  return out;
}

}  // namespace

std::string semantics(const RunView& run) {
  if (!run.config()) {
    return "<p class=\"warn\">The configuration could not be read.</p>";
  }
  Plan p;
  try {
    p = make_plan(*run.config());
  } catch (const Error& error) {
    return "<p class=\"warn\">What the settings mean cannot be said here: " +
           html_visible(error.what(), 600) + "</p>";
  }
  std::string rows;
  const auto row = [&](const char* name, const std::string& text) {
    rows +=
        text.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>", name, html_visible(text, 2000));
  };
  row("algorithm", p.algorithm + ": " + p.summary);
  rows += "<dt>loss</dt><dd><code>" + html_visible(p.formula, 2000) + "</code></dd>";
  row("weight", p.weight_words);
  row("boundary", p.boundary_reachable ? "can be reached: tokens beyond it are masked or reversed"
                                       : "can not be reached: no token is ever masked or reversed");
  row("first update", p.exact ? "every ratio is exactly 1, compared bit by bit, else the run stops"
                              : "ratios are not 1: the policy that samples is not the live one");
  row("anchor", p.anchor);
  row("advantage", p.advantage);
  row("aggregation", p.aggregation);
  for (const std::string& extra : p.extras) {
    row("besides", extra);
  }
  row("one step",
      fmt::format("{} prompts, {} completions, {} optimizer updates of {} completions each",
                  p.prompts_per_step, p.completions_per_step, p.updates_per_step,
                  p.completions_per_update));
  row("learning rate", p.learning_rate);
  row("sampling", p.sampling);
  row("reward", p.reward);
  row("truncated", p.truncation);
  row("evaluation", p.evaluation);
  row("seeds", p.seeds);
  for (const std::string& warning : p.warnings) {
    row("warning", warning);
  }
  return "<dl class=\"sheet\">" + rows + "</dl>";
}

std::string hashes(const std::vector<const RunView*>& runs) {
  Table table(runs, "hashes");
  const auto head = [](auto of) {
    return
        [of](const RunView& r) { return r.ledger_head() ? of(*r.ledger_head()) : std::string(); };
  };
  table.row("ledger, last line", head([](const LedgerLine& l) { return l.hash; }), true);
  table.row("which is about", head([](const LedgerLine& l) {
              return l.start ? "the start" : step_words(l.values.phase, l.values.step);
            }));
  table.row("weights", head([](const LedgerLine& l) { return l.values.weights; }), true);
  table.row("optimizer", head([](const LedgerLine& l) { return l.values.optimizer; }), true);
  table.row(
      "settings that decide results",
      [](const RunView& r) { return r.config() ? r.config()->results_hash() : ""; }, true);
  table.row(
      "all settings", [](const RunView& r) { return r.config() ? r.config()->hash() : ""; }, true);
  const auto build = [](const char* key) {
    return [key](const RunView& r) { return text_at(last_start(r), "build", key); };
  };
  table.row("build", [](const RunView& r) {
    const Json start = last_start(r);
    const std::string version = text_at(start, "build", "version");
    return version.empty()
               ? version
               : fmt::format("minirl {}, commit {}", version, text_at(start, "build", "commit"));
  });
  table.row("compiler", build("compiler"));
  table.row("flags", build("flags"), true);
  table.row("log pi against log mu, first updates", [](const RunView& r) {
    const double ulp = r.metrics().largest("train", "audit/logp_ulp_max");
    return std::isfinite(ulp) ? fmt::format("largest distance {:g} ulp over {} steps", ulp,
                                            r.metrics().rows("train").steps.size())
                              : std::string();
  });
  return table.html() +
         "<p class=\"dim\">All are SHA-256. The last line of the ledger commits to every step "
         "before "
         "it; <code>minirl verify ledger RUN</code> checks the chain against the files, "
         "<code>minirl replay RUN --step N</code> makes a step again.</p>";
}

std::string cost(const std::vector<const RunView*>& runs) {
  Table table(runs, "cost");
  const auto time = [](double s) { return s > 0 ? duration(s) : std::string(); };
  table.row("steps", [](const RunView& r) {
    return fmt::format("{} of pretraining, {} of reinforcement learning",
                       r.metrics().steps("pretrain"), r.metrics().steps("train"));
  });
  table.row("time, pretraining", [&](const RunView& r) { return time(seconds(r, "pretrain")); });
  table.row("time, train steps", [&](const RunView& r) { return time(seconds(r, "train")); });
  table.row("of which sampling", [&](const RunView& r) {
    const double s = sampling_seconds(r);
    return std::isfinite(s) ? time(s) : std::string();
  });
  table.row("of which hashes for the ledger",
            [&](const RunView& r) { return time(r.metrics().sum("train", "perf/ledger_s")); });
  table.row("time, evaluations", [&](const RunView& r) { return time(seconds(r, "eval")); });
  table.row("tokens sampled", [](const RunView& r) {
    const MetricRows& rows = r.metrics().rows("train");
    const auto found = rows.columns.find("rollout/length_mean");
    if (!r.config() || found == rows.columns.end()) {
      return std::string();
    }
    return fmt::format(
        "{:.0f} in {} completions",
        r.metrics().sum("train", "rollout/length_mean") *
            static_cast<double>(r.config()->config.completions_per_step()),
        static_cast<Index>(rows.steps.size()) * r.config()->config.completions_per_step());
  });
  table.row("sampling, last step", [](const RunView& r) {
    return finite(r.metrics().last("train", "perf/sample_tokens_per_s"), "{:.0f} tokens/s");
  });
  table.row("training, last step", [](const RunView& r) {
    return finite(r.metrics().last("train", "perf/train_tokens_per_s"), "{:.0f} tokens/s");
  });
  table.row("resident memory, largest", [](const RunView& r) {
    const double bytes = std::fmax(r.metrics().largest("train", "perf/memory_bytes"),
                                   r.metrics().largest("pretrain", "perf/memory_bytes"));
    return finite(bytes / 1048576, "{:.0f} MiB");
  });
  const auto machine = [](const char* key) {
    return [key](const RunView& r) { return text_at(last_start(r), "machine", key); };
  };
  table.row("processor", machine("processor"));
  table.row("cores", machine("cores"));
  table.row("memory, GiB", machine("memory_gib"));
  table.row("instruction set", machine("simd_active"));
  table.row("started", [](const RunView& r) {
    const Json start = last_start(r);
    return start.contains("time_utc") && start["time_utc"].is_string()
               ? start["time_utc"].get<std::string>()
               : std::string();
  });
  return table.html();
}

std::string sources(const RunView& run) {
  std::string out;
  for (const auto& [file, title] :
       {std::pair("config.resolved.toml", "Configuration, with where every value came from"),
        std::pair("env.json", "Build and machine of every start")}) {
    try {
      out += fmt::format("<details id=\"source-{}\"><summary>{}</summary><pre>{}</pre></details>",
                         file, title,
                         html_visible(read_file(run.folder() / file), kSourceBytes, false));
    } catch (const Error&) {
      out += fmt::format("<p class=\"warn\">{} is not there.</p>", file);
    }
  }
  return out;
}

}  // namespace minirl::rl::report
