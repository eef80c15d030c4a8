#include "rl/report/curves.h"

#include <algorithm>
#include <cmath>

#include "rl/plot.h"

namespace minirl::rl::report {
namespace {

constexpr double kFree = std::numeric_limits<double>::quiet_NaN();  // the data decide

struct Line {
  const char *key, *name;
};

struct Figure {
  const char *title, *note, *kind;
  std::vector<Line> lines;
  bool smooth = false, logarithmic = false;
  double y_min = kFree, y_max = kFree;
};

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all = {
      {"Reward",
       "mean over the step's completions",
       "train",
       {{"reward/mean", "reward"}},
       true,
       false,
       0,
       1},
      {"Response length",
       "tokens, the end token included",
       "train",
       {{"rollout/length_mean", "mean"}, {"rollout/length_max", "longest"}}},
      {"Entropy", "nats per token, exact", "train", {{"policy/entropy", "entropy"}}},
      {"Divergence, TV",
       "mean |pi - mu| of the sampled tokens",
       "train",
       {{"policy/prob_absdiff_mean", "all updates"},
        {"last_update/prob_absdiff_mean", "last update"}}},
      {"Divergence, KL",
       "k3 estimate to the rollout policy, nats",
       "train",
       {{"policy/approx_kl", "all updates"}, {"last_update/approx_kl", "last update"}}},
      {"Largest ratio",
       "pi / mu over all tokens; 1 on the first update",
       "train",
       {{"policy/ratio_max", "largest"}}},
      {"Masked, by sign of A",
       "tokens whose gradient the loss set to 0",
       "train",
       {{"policy/masked_positive_fraction", "of A > 0"},
        {"policy/masked_negative_fraction", "of A < 0"}}},
      {"Outside the trust region",
       "fraction of tokens",
       "train",
       {{"policy/clipfrac_upper", "above"}, {"policy/clipfrac_lower", "below"}}},
      {"Gradient norm",
       "before clipping, mean over the updates",
       "train",
       {{"train/grad_norm", "norm"}},
       true},
      {"Loss", "aggregated, mean over the updates", "train", {{"train/loss", "loss"}}, true},
      {"Update visibility",
       "weights whose bf16 form the step changed",
       "train",
       {{"update/bf16_changed_share", "share"}}},
      {"Where the signal is",
       "fractions",
       "train",
       {{"rollout/answered_frac", "answered"},
        {"rollout/truncated_frac", "truncated"},
        {"rollout/zero_variance_frac", "groups without signal"}},
       false,
       false,
       0,
       1},
      {"Throughput",
       "tokens per second",
       "train",
       {{"perf/sample_tokens_per_s", "sampling"}, {"perf/train_tokens_per_s", "training"}}},
      {"Pretraining loss",
       "nats per completion token",
       "pretrain",
       {{"pretrain/loss", "loss"}},
       true,
       true},
  };
  return all;
}

// y of one step over the runs of a group.
struct Spread {
  double sum = 0, count = 0, low = 0, high = 0;
  void add(double v) {
    low = count == 0 ? v : std::min(low, v);
    high = count == 0 ? v : std::max(high, v);
    sum += v;
    count += 1;
  }
};

std::vector<PlotPoint> points_of(const std::map<double, Spread>& steps) {
  std::vector<PlotPoint> out;
  for (const auto& [step, s] : steps) {
    out.push_back({step, s.sum / s.count, s.low, s.high});
  }
  return out;
}

std::vector<PlotPoint> points_of(const RunGroup& group, const Figure& figure, const char* key) {
  std::map<double, Spread> spread;
  for (const RunView* run : group.runs) {
    const MetricRows& rows = run->metrics().rows(figure.kind);
    const auto column = rows.columns.find(key);
    if (column == rows.columns.end()) {
      continue;
    }
    if (group.runs.size() == 1) {
      std::vector<PlotPoint> out;
      for (std::size_t i = 0; i < rows.steps.size(); ++i) {
        out.push_back({rows.steps[i], column->second[i]});
      }
      return out;
    }
    for (std::size_t i = 0; i < rows.steps.size(); ++i) {
      if (std::isfinite(column->second[i])) {
        spread[rows.steps[i]].add(column->second[i]);
      }
    }
  }
  return points_of(spread);
}

PlotSeries series_of(const RunGroup& group, const Figure& figure, const Line& line,
                     std::string name) {
  PlotSeries s;
  s.name = std::move(name);
  s.points = points_of(group, figure, line.key);
  s.band = group.runs.size() > 1;
  s.smooth = figure.smooth;
  return s;
}

bool flat_zero(const PlotSeries& s) {
  return std::all_of(s.points.begin(), s.points.end(),
                     [](const PlotPoint& p) { return p.y == 0 && !(p.high > 0); });
}

Plot empty_plot(const Figure& figure) {
  Plot p;
  p.title = figure.title;
  p.note = figure.note;
  p.x_label = "step";
  p.logarithmic = figure.logarithmic;
  p.y_min = figure.y_min;
  p.y_max = figure.y_max;
  return p;
}

// One run, or one group of seeds: the lines of a figure in one picture.
std::string one_group(const RunGroup& group, const Figure& figure) {
  Plot plot = empty_plot(figure);
  for (const Line& line : figure.lines) {
    PlotSeries s = series_of(group, figure, line, line.name);
    if (!s.points.empty() && (plot.series.empty() || !flat_zero(s))) {
      plot.series.push_back(std::move(s));  // a further curve of zeros says nothing
    }
  }
  return plot_figure(plot);
}

// Several groups: a picture a line.
std::string overlaid(const std::vector<RunGroup>& groups, const Figure& figure) {
  std::string out;
  for (const Line& line : figure.lines) {
    Plot plot = empty_plot(figure);
    if (figure.lines.size() > 1) {
      plot.title += fmt::format(": {}", line.name);
    }
    bool any = false;
    for (const RunGroup& group : groups) {
      plot.series.push_back(series_of(group, figure, line, group.name));
      any = any || !flat_zero(plot.series.back());
    }
    if (any || &line == &figure.lines.front()) {
      out += plot_figure(plot);
    }
  }
  return out;
}

// avg@k or pass@k of held-out problems: of one run with its intervals, of several seeds their mean
// and range.
PlotSeries held_out(const RunGroup& group, Interval Evaluation::*of, std::string name) {
  PlotSeries s;
  s.name = std::move(name);
  s.markers = group.runs.size() == 1;
  s.band = !s.markers;
  std::map<double, Spread> spread;
  for (const RunView* run : group.runs) {
    for (const Evaluation& e : run->evaluations()) {
      const Interval& i = e.*of;
      const auto step = static_cast<double>(e.step);
      if (s.markers) {
        s.points.push_back({step, i.value, i.lower, i.upper});
      } else {
        spread[step].add(i.value);
      }
    }
  }
  if (s.band) {
    s.points = points_of(spread);
  }
  return s;
}

std::string held_out_figures(const std::vector<RunGroup>& groups) {
  const Evaluation* any = nullptr;
  for (const RunGroup& g : groups) {
    for (const RunView* run : g.runs) {
      any = run->evaluations().empty() ? any : &run->evaluations().front();
    }
  }
  if (any == nullptr) {
    return "";
  }
  const bool seeds = std::any_of(groups.begin(), groups.end(),
                                 [](const RunGroup& g) { return g.runs.size() > 1; });
  const Figure figure = {
      "Held-out problems",
      seeds ? "area: from the smallest to the largest seed" : "95% intervals over problems",
      "eval",
      {},
      false,
      false,
      0,
      1};
  Plot both = empty_plot(figure);
  std::string out;
  for (const auto& [name, of] :
       {std::pair(fmt::format("avg@{}", any->samples), &Evaluation::average),
        std::pair(fmt::format("pass@{}", any->samples), &Evaluation::pass)}) {
    Plot plot = empty_plot(figure);
    plot.title += ": " + name;
    for (const RunGroup& g : groups) {
      plot.series.push_back(held_out(g, of, g.name));
    }
    both.series.push_back(held_out(groups.front(), of, name));
    out += plot_figure(plot);
  }
  return groups.size() == 1 ? plot_figure(both) : out;
}

}  // namespace

std::string curves(const std::vector<RunGroup>& groups) {
  std::string out;
  for (const Figure& figure : figures()) {
    out += groups.size() == 1 ? one_group(groups.front(), figure) : overlaid(groups, figure);
    if (&figure == &figures().front()) {
      out += held_out_figures(groups);
    }
  }
  if (out.empty()) {
    return "<p class=\"dim\">There are no numbers to draw yet.</p>";
  }
  const bool seeds = std::any_of(groups.begin(), groups.end(),
                                 [](const RunGroup& g) { return g.runs.size() > 1; });
  return fmt::format(
      "<p class=\"dim\">{}Values: point at a figure, tap it, or focus it and use the "
      "arrow keys.</p><div class=\"grid2\">{}</div>",
      seeds ? "Line: mean over seeds; area: from the smallest to the largest seed. " : "", out);
}

}  // namespace minirl::rl::report
