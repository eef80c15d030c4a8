// A comparison as text, JSON and HTML.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "rl/html_text.h"
#include "rl/report/compare.h"

namespace minirl::rl::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetrics[] = {"reward/mean",
                                    "rollout/length_mean",
                                    "rollout/truncated_frac",
                                    "rollout/zero_variance_frac",
                                    "policy/entropy",
                                    "policy/prob_absdiff_mean",
                                    "policy/approx_kl",
                                    "policy/masked_positive_fraction",
                                    "policy/masked_negative_fraction",
                                    "train/loss",
                                    "train/grad_norm",
                                    "update/bf16_changed_share",
                                    "perf/sample_tokens_per_s",
                                    "perf/train_tokens_per_s"};

// A table of texts: a name, then one cell a run.
struct Row {
  std::string name;
  std::vector<std::string> cells;
};

std::vector<Row> setting_rows(const std::vector<const RunView*>& runs) {
  std::vector<Row> out;
  for (const SettingDifference& d : setting_differences(runs)) {
    out.push_back({d.key + (d.changes_results ? "" : " (*)"), d.values});
  }
  return out;
}

std::string shown(const Interval& i) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", i.value, i.lower, i.upper);
}

std::vector<Row> metric_rows(const std::vector<const RunView*>& runs) {
  std::vector<Row> out;
  const auto row = [&](const std::string& name, auto of) {
    Row r{name, {}};
    for (const RunView* run : runs) {
      r.cells.push_back(of(*run));
    }
    const bool any = std::any_of(r.cells.begin(), r.cells.end(),
                                 [](const std::string& c) { return !c.empty() && c != "-"; });
    if (any) {
      out.push_back(std::move(r));
    }
  };
  row("train steps",
      [](const RunView& r) { return fmt::format("{}", r.metrics().steps("train")); });
  for (const auto& [name, of] :
       {std::pair("avg@k", &Evaluation::average), std::pair("pass@k", &Evaluation::pass)}) {
    row(name, [of = of](const RunView& r) {
      return r.evaluations().empty() ? std::string("-") : shown(r.evaluations().back().*of);
    });
  }
  for (const char* key : kMetrics) {
    row(key, [&](const RunView& r) {
      const double v = r.metrics().last("train", key);
      return std::isfinite(v) ? fmt::format("{:.5g}", v) : std::string("-");
    });
  }
  row("time of train steps, s", [](const RunView& r) {
    return fmt::format("{:.1f}", r.metrics().sum("train", "perf/step_s"));
  });
  row("memory, largest, MiB", [](const RunView& r) {
    const double bytes = r.metrics().largest("train", "perf/memory_bytes");
    return std::isfinite(bytes) ? fmt::format("{:.0f}", bytes / 1048576) : std::string("-");
  });
  return out;
}

std::string difference_words(const RunView& first, const RunView& run) {
  const auto d = evaluation_difference(first, run);
  if (!d) {
    return "evaluations: not about the same problems, so nothing is paired";
  }
  return fmt::format(
      "avg@{}: {:+.3f} [{:+.3f}, {:+.3f}] on the same {} problems (step {} against step {})",
      run.evaluations().back().samples, d->value, d->lower, d->upper,
      run.evaluations().back().rows.size(), run.evaluations().back().step,
      first.evaluations().back().step);
}

Agreement agreement(const RunView& first, const RunView& run) {
  return compare_ledgers(first.folder() / "ledger.jsonl", run.folder() / "ledger.jsonl");
}

std::string text_table(const std::vector<const RunView*>& runs, const std::vector<Row>& rows) {
  std::size_t name_width = 0;
  std::size_t cell_width = 8;
  for (const Row& r : rows) {
    name_width = std::max(name_width, r.name.size());
    for (const std::string& c : r.cells) {
      cell_width = std::max(cell_width, std::min<std::size_t>(c.size(), 40));
    }
  }
  const auto line = [&](const std::string& name, const std::vector<std::string>& cells) {
    std::string out = fmt::format("  {:<{}}", name, name_width);
    for (const std::string& c : cells) {
      out += fmt::format("  {:<{}}", c, cell_width);
    }
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  };
  std::vector<std::string> names;
  for (const RunView* run : runs) {
    names.push_back(visible(run->name(), 40));
  }
  std::string out = line("", names);
  for (const Row& r : rows) {
    out += line(r.name, r.cells);
  }
  return out;
}

std::string html_table(const std::vector<const RunView*>& runs, const std::vector<Row>& rows,
                       const std::string& label) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table "
      "class=\"results\"><tr><td></td>",
      label);
  for (const RunView* run : runs) {
    out += "<th>" + html_visible(run->name(), 80) + "</th>";
  }
  for (const Row& r : rows) {
    out += "</tr><tr><th scope=\"row\">" + html_visible(r.name) + "</th>";
    for (const std::string& c : r.cells) {
      out += "<td>" + html_visible(c, 200) + "</td>";
    }
  }
  return out + "</tr></table></div>";
}

constexpr const char* kStarred = "(*) changes no number of a run";

Json interval_json(const Interval& i) {
  return {{"value", i.value}, {"lower", i.lower}, {"upper", i.upper}, {"confidence", i.confidence}};
}

Json place_json(const Agreement::Place& p) {
  return {{"phase", p.phase == Phase::pretrain ? "pretrain" : "train"}, {"step", p.step}};
}

Json run_json(const RunView& run) {
  Json metrics = Json::object();
  for (const char* key : kMetrics) {
    if (const double v = run.metrics().last("train", key); std::isfinite(v)) {
      metrics[key] = v;
    }
  }
  Json out = {{"name", run.name()},
              {"folder", run.folder().string()},
              {"steps", run.metrics().steps("train")},
              {"finished", run.finished()},
              {"notes", run.notes()},
              {"metrics", metrics},
              {"evaluation", nullptr}};
  if (!run.evaluations().empty()) {
    const Evaluation& e = run.evaluations().back();
    out["evaluation"] = {{"step", e.step},
                         {"problems", e.problems},
                         {"samples", e.samples},
                         {"avg_at_k", interval_json(e.average)},
                         {"pass_at_k", interval_json(e.pass)}};
  }
  return out;
}

Json against_json(const RunView& first, const RunView& run) {
  const Agreement a = agreement(first, run);
  Json out = {{"run", run.name()},      {"identical", a.identical()},
              {"words", a.words()},     {"common_steps", a.common_steps},
              {"equal_until", nullptr}, {"first_difference", nullptr},
              {"note", a.note},         {"evaluation_difference", nullptr}};
  if (a.equal_until) {
    out["equal_until"] = place_json(*a.equal_until);
  }
  if (a.differs_at) {
    out["first_difference"] = place_json(*a.differs_at);
    out["first_difference"]["part"] = a.part;
  }
  if (const auto d = evaluation_difference(first, run)) {
    out["evaluation_difference"] = interval_json(*d);
  }
  return out;
}

}  // namespace

std::string comparison_text(const std::vector<const RunView*>& runs) {
  const std::vector<Row> settings = setting_rows(runs);
  std::string out = "settings that differ\n";
  out +=
      settings.empty() ? "  none\n" : text_table(runs, settings) + fmt::format("  {}\n", kStarred);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const Agreement a = agreement(*runs[0], *runs[i]);
    out +=
        fmt::format("\n{} against {}\n  {}\n  {}\n", visible(runs[i]->name(), 80),
                    visible(runs[0]->name(), 80), a.words(), difference_words(*runs[0], *runs[i]));
    out += a.note.empty() ? "" : fmt::format("  note: {}\n", visible(a.note, 300));
  }
  out += "\nlast step\n" + text_table(runs, metric_rows(runs));
  for (const RunView* run : runs) {
    for (const std::string& note : run->notes()) {
      out += fmt::format("note: {}: {}\n", visible(run->name(), 80), visible(note, 300));
    }
  }
  return out;
}

std::string comparison_json(const std::vector<const RunView*>& runs) {
  Json doc = {{"format", 1},
              {"runs", Json::array()},
              {"settings", Json::array()},
              {"against_first", Json::array()}};
  for (const RunView* run : runs) {
    doc["runs"].push_back(run_json(*run));
  }
  for (const SettingDifference& d : setting_differences(runs)) {
    doc["settings"].push_back(
        {{"key", d.key}, {"changes_results", d.changes_results}, {"values", d.values}});
  }
  for (std::size_t i = 1; i < runs.size(); ++i) {
    doc["against_first"].push_back(against_json(*runs[0], *runs[i]));
  }
  return doc.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string comparison_html(const std::vector<const RunView*>& runs) {
  const std::vector<Row> settings = setting_rows(runs);
  std::string out = settings.empty() ? "<p>No setting differs.</p>"
                                     : html_table(runs, settings, "settings that differ") +
                                           fmt::format("<p class=\"dim\">{}</p>", kStarred);
  out += "<h3>Against " + html_visible(runs[0]->name(), 80) + "</h3><dl class=\"sheet\">";
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const Agreement a = agreement(*runs[0], *runs[i]);
    out += fmt::format("<dt>{}</dt><dd><b>{}</b><br>{}{}</dd>", html_visible(runs[i]->name(), 80),
                       html_visible(a.words()), html_visible(difference_words(*runs[0], *runs[i])),
                       a.note.empty() ? "" : "<br>" + html_visible(a.note, 300));
  }
  return out + "</dl><h3>Last step</h3>" + html_table(runs, metric_rows(runs), "last step");
}

}  // namespace minirl::rl::report
