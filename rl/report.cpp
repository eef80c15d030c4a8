#include "rl/report.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "rl/html_page.h"
#include "rl/plot.h"
#include "rl/summary.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Rows {
  std::vector<Json> pretrain, train;
};

Rows read_rows(const fs::path& file) {
  Rows out;
  if (!fs::exists(file)) {
    return out;
  }
  const std::string content = read_file(file);
  for (std::size_t begin = 0; begin < content.size();) {
    const auto end = std::min(content.find('\n', begin), content.size());
    Json row = Json::parse(content.begin() + static_cast<std::ptrdiff_t>(begin),
                           content.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    begin = end + 1;
    if (!row.is_object()) {
      continue;
    }  // a line that is being written
    const std::string kind = row.value("kind", "");
    if (kind == "pretrain") {
      out.pretrain.push_back(std::move(row));
    } else if (kind == "train") {
      out.train.push_back(std::move(row));
    }
  }
  return out;
}

PlotSeries curve(const std::vector<Json>& rows, const std::string& key, const std::string& name,
                 bool smooth = false) {
  PlotSeries s{name, {}, false, smooth};
  for (const Json& r : rows) {
    if (!r.contains(key)) {
      continue;
    }
    const double y = r[key].is_number() ? r[key].get<double>() : std::nan("");
    s.points.push_back({r.value("step", 0.0), y});
  }
  return s;
}

PlotSeries estimate(const std::vector<Evaluation>& evaluations, const std::string& name,
                    Interval Evaluation::*of) {
  PlotSeries s{name, {}, true, false};
  for (const auto& e : evaluations) {
    s.points.push_back({static_cast<double>(e.step), (e.*of).value, (e.*of).lower, (e.*of).upper});
  }
  return s;
}

std::string figures(const Rows& rows, const std::vector<Evaluation>& evaluations) {
  const auto plot = [](std::string title, std::string note, std::vector<PlotSeries> series) {
    Plot p;
    p.title = std::move(title);
    p.note = std::move(note);
    p.x_label = "step";
    for (auto& s : series) {
      const bool flat = std::all_of(s.points.begin(), s.points.end(),
                                    [](const PlotPoint& q) { return q.y == 0; });
      if (!s.points.empty() && (!flat || p.series.empty())) {
        p.series.push_back(std::move(s));
      }  // a further curve of zeros says nothing
    }
    return p;
  };
  std::vector<Plot> plots;
  Plot reward = plot("Reward", "mean over the step's completions",
                     {curve(rows.train, "reward/mean", "training", true)});
  reward.y_min = 0, reward.y_max = 1;
  plots.push_back(std::move(reward));
  if (!evaluations.empty()) {
    const auto k = evaluations.front().samples;
    Plot held_out = plot("Held-out problems", "95% intervals over problems",
                         {estimate(evaluations, fmt::format("avg@{}", k), &Evaluation::average),
                          estimate(evaluations, fmt::format("pass@{}", k), &Evaluation::pass)});
    held_out.y_min = 0, held_out.y_max = 1;
    plots.push_back(std::move(held_out));
  }
  plots.push_back(plot("Loss", "aggregated, mean over the step's updates",
                       {curve(rows.train, "train/loss", "loss", true)}));
  plots.push_back(plot("KL to the rollout policy", "k3 estimate, nats",
                       {curve(rows.train, "policy/approx_kl", "all updates"),
                        curve(rows.train, "last_update/approx_kl", "last update")}));
  plots.push_back(
      plot("Entropy", "nats per token, exact", {curve(rows.train, "policy/entropy", "entropy")}));
  plots.push_back(plot("Largest ratio", "pi / mu over all tokens; 1 on the first update",
                       {curve(rows.train, "policy/ratio_max", "ratio max")}));
  plots.push_back(plot("Outside the trust region", "fraction of tokens",
                       {curve(rows.train, "policy/clipfrac_upper", "above"),
                        curve(rows.train, "policy/clipfrac_lower", "below"),
                        curve(rows.train, "policy/masked_fraction", "masked")}));
  plots.push_back(plot("Gradient norm", "before clipping",
                       {curve(rows.train, "train/grad_norm", "mean", true)}));
  plots.push_back(plot("Completion length", "tokens, the end token included",
                       {curve(rows.train, "rollout/length_mean", "mean"),
                        curve(rows.train, "rollout/length_max", "longest")}));
  Plot signal = plot("Where the signal is", "fractions",
                     {curve(rows.train, "rollout/answered_frac", "answered"),
                      curve(rows.train, "rollout/truncated_frac", "truncated"),
                      curve(rows.train, "rollout/zero_variance_frac", "groups without signal")});
  signal.y_min = 0, signal.y_max = 1;
  plots.push_back(std::move(signal));
  plots.push_back(plot("Speed", "tokens per second",
                       {curve(rows.train, "perf/sample_tokens_per_s", "sampling"),
                        curve(rows.train, "perf/train_tokens_per_s", "training")}));
  Plot pretraining = plot("Pretraining loss", "nats per completion token, logarithmic",
                          {curve(rows.pretrain, "pretrain/loss", "loss", true)});
  pretraining.logarithmic = true;
  plots.push_back(std::move(pretraining));
  std::string out;
  for (const auto& p : plots) {
    out += plot_figure(p);
  }
  return out;
}

std::string cell(const Interval& i) {
  return fmt::format("<td><b>{:.3f}</b> <span class=\"dim\">[{:.3f}, {:.3f}]</span></td>", i.value,
                     i.lower, i.upper);
}

std::string results_table(const std::vector<Evaluation>& evaluations) {
  if (evaluations.empty()) {
    return "";
  }
  const Evaluation& before = evaluations.front();
  const Evaluation& after = evaluations.back();
  const bool both = evaluations.size() > 1;
  std::string out = "<table class=\"results\"><tr><th></th>";
  out += both ? fmt::format("<th>before (step {})</th><th>after (step {})</th></tr>", before.step,
                            after.step)
              : fmt::format("<th>step {}</th></tr>", before.step);
  const auto row = [&](const std::string& name, auto of) {
    out += "<tr><th>" + name + "</th>" + of(before) + (both ? of(after) : "") + "</tr>";
  };
  row(fmt::format("avg@{}", before.samples), [](const Evaluation& e) { return cell(e.average); });
  row(fmt::format("pass@{}", before.samples), [](const Evaluation& e) { return cell(e.pass); });
  row("answered",
      [](const Evaluation& e) { return fmt::format("<td>{:.1f}%</td>", 100 * e.answered_frac); });
  row("truncated",
      [](const Evaluation& e) { return fmt::format("<td>{:.1f}%</td>", 100 * e.truncated_frac); });
  row("tokens, mean",
      [](const Evaluation& e) { return fmt::format("<td>{:.1f}</td>", e.length_mean); });
  out += "</table>";
  out += fmt::format(
      "<p class=\"dim\">{} held-out problems, {} samples each, temperature {}. 95% intervals over "
      "problems: {}.",
      before.problems, before.samples, before.temperature, html_escape(before.average.method));
  if (both && before.rows.size() == after.rows.size() && before.rows.size() > 1) {
    const Interval gain = improvement(before, after);
    out += fmt::format(" On the same problems avg@{} changed by <b>{:+.3f}</b> [{:+.3f}, {:+.3f}].",
                       before.samples, gain.value, gain.lower, gain.upper);
  }
  return out + "</p>";
}

std::string examples(const std::vector<Evaluation>& evaluations) {
  if (evaluations.empty()) {
    return "";
  }
  const Evaluation& before = evaluations.front();
  const Evaluation& after = evaluations.back();
  std::string out =
      "<h2>What it says</h2><p class=\"dim\">The first held-out problems, first sample of each: "
      "not chosen by how well they look.</p><table class=\"examples\">"
      "<tr><th>prompt</th><th>gold</th><th></th><th>completion</th><th>reward</th></tr>";
  for (std::size_t i = 0; i < 6 && i < before.rows.size(); ++i) {
    const auto line = [&](const Evaluation& e, const char* when, bool first) {
      if (i >= e.rows.size() || e.rows[i].samples.empty()) {
        return;
      }
      const SampleRow& s = e.rows[i].samples.front();
      out += first ? fmt::format(
                         "<tr class=\"first\"><td><code>{}</code></td><td><code>{}</code></td>",
                         html_escape(visible(before.rows[i].prompt)),
                         html_escape(before.rows[i].answer))
                   : "<tr><td></td><td></td>";
      out += fmt::format(
          "<td class=\"dim\">{}</td><td><code>{}</code>{}</td><td title=\"{}\">{:g}</td></tr>",
          when, html_escape(visible(s.text, 400)),
          s.stopped ? "" : " <span class=\"dim\">cut off</span>", html_escape(s.why), s.reward);
    };
    line(before, evaluations.size() > 1 ? "before" : "", true);
    if (evaluations.size() > 1) {
      line(after, "after", false);
    }
  }
  return out + "</table>";
}

std::string appendix(const fs::path& folder) {
  std::string out;
  for (const auto& [file, title] :
       {std::pair("config.resolved.toml", "Configuration, with where every value came from"),
        std::pair("env.json", "Build and machine")}) {
    if (fs::exists(folder / file)) {
      out += fmt::format("<details><summary>{}</summary><pre>{}</pre></details>", title,
                         html_escape(read_file(folder / file)));
    }
  }
  return out;
}


}  // namespace

std::string report_html(const fs::path& folder) {
  const Rows rows = read_rows(folder / "metrics.jsonl");
  const auto evaluations = read_evaluations(folder);
  const std::string name = html_escape(fs::weakly_canonical(folder).filename().string());
  const auto last = rows.train.empty() ? Index{0} : rows.train.back().value("step", Index{0});
  std::string out = fmt::format(
      "<h1>{}</h1><p class=\"dim\">{} steps of reinforcement learning after {} of pretraining</p>",
      name, last, rows.pretrain.empty() ? Index{0} : rows.pretrain.back().value("step", Index{0}));
  out += results_table(evaluations);
  out += "<h2>Curves</h2><div class=\"grid2\">" + figures(rows, evaluations) + "</div>";
  out += examples(evaluations);
  out += "<h2>How it was made</h2>" + appendix(folder);
  return html_page(fs::weakly_canonical(folder).filename().string(), out);
}

}  // namespace minirl::rl
