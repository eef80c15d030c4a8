#include <algorithm>
#include <cmath>

#include "audit/experiment.h"
#include "rl/html_page.h"
#include "rl/plot.h"

namespace minirl::audit {
namespace {

using rl::html_escape;

double mean_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) { sum += x; }
  return v.empty() ? std::nan("") : sum / static_cast<double>(v.size());
}

// "0.912 (0.89 to 0.93)"
std::string spread(const std::vector<double>& v) {
  if (v.empty()) { return "-"; }
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  return v.size() == 1 ? fmt::format("{:.3g}", v[0]) : fmt::format("{:.3g} ({:.3g} to {:.3g})", mean_of(v), *low, *high);
}

const char* verdict_word(ClaimResult::Verdict v) {
  return v == ClaimResult::Verdict::agrees ? "agrees" : v == ClaimResult::Verdict::disagrees ? "disagrees" : "undecided";
}

std::string difference_text(const ClaimResult& c) {
  return std::isfinite(c.difference.lower) ? fmt::format("{:+.3g} [{:+.3g}, {:+.3g}]", c.difference.value, c.difference.lower, c.difference.upper)
                                           : fmt::format("{:+.3g} (one seed: no interval)", c.difference.value);
}

struct Column {
  const char* key;
  const char* title;
};
constexpr Column kColumns[] = {{"final_reward", "reward, last quarter"}, {"drop", "lost from the best"}, {"final_eval", "avg@k held out"}, {"area", "reward, all steps"},
                               {"entropy", "entropy (nats)"},          {"prob_absdiff", "mean abs(pi - mu)"}, {"masked", "masked"},          {"bad_updates", "bad updates"}};

std::string seeds_text(const std::vector<Index>& seeds) {
  std::string out;
  for (const Index s : seeds) {
    if (!out.empty()) { out += ", "; }
    out += std::to_string(s);
  }
  return out;
}

std::size_t failures(const ArmResult& a) {
  return static_cast<std::size_t>(std::count_if(a.failures.begin(), a.failures.end(), [](const std::string& f) { return !f.empty(); }));
}

std::string label_of(const ExperimentResult& r, const std::string& name) {
  for (const ArmResult& a : r.arms) {
    if (a.arm.name == name) { return a.arm.label; }
  }
  return name;
}

rl::Plot curve_plot(const ExperimentResult& r, const std::string& key) {
  rl::Plot plot;
  plot.title = key;
  plot.note = r.experiment.seeds.size() > 1 ? "mean over seeds; the area spans the seeds" : "";
  plot.x_label = "step";
  for (const ArmResult& a : r.arms) {
    rl::PlotSeries s;
    s.name = a.arm.label;
    s.band = true;
    const auto found = a.curves.find(key);
    if (found == a.curves.end()) { continue; }
    std::size_t longest = 0;
    for (const auto& run : found->second) { longest = std::max(longest, run.size()); }
    for (std::size_t i = 0; i < longest; ++i) {
      std::vector<double> at;
      for (const auto& run : found->second) {
        if (i < run.size() && std::isfinite(run[i])) { at.push_back(run[i]); }
      }
      if (at.empty()) { continue; }
      const auto [low, high] = std::minmax_element(at.begin(), at.end());
      s.points.push_back({static_cast<double>(i + 1), mean_of(at), *low, *high});
    }
    plot.series.push_back(std::move(s));
  }
  return plot;
}

constexpr std::size_t kMaskedShown = 12;

}  // namespace

std::string experiment_markdown(const ExperimentResult& r, const std::string& command) {
  const Experiment& e = r.experiment;
  std::string out = fmt::format("# {}\n\n{}\n\n{}\n\nMade by `{}`; seeds {}. Intervals: Student's t over seeds, 95%.\n\n## Results\n\n| setting |", e.title, e.question, e.setup, command, seeds_text(e.seeds));
  for (const Column& c : kColumns) { out += fmt::format(" {} |", c.title); }
  out += " stopped |\n|---|";
  for (std::size_t i = 0; i < std::size(kColumns); ++i) { out += "---|"; }
  out += "---|\n";
  for (const ArmResult& a : r.arms) {
    out += fmt::format("| {} |", a.arm.label);
    for (const Column& c : kColumns) { out += fmt::format(" {} |", spread(a.outcomes.at(c.key))); }
    out += fmt::format(" {} of {} |\n", failures(a), a.failures.size());
  }
  out += "\nMean over seeds, with the smallest and the largest. *stopped*: runs that ended at a tripwire (a policy that diverged); the steps that they did not make count as reward 0.\n";
  if (!e.claims.empty()) {
    out += "\n## Against the literature\n\n| statement | source | measured as | difference | here |\n|---|---|---|---|---|\n";
    for (const ClaimResult& c : r.claims) {
      out += fmt::format("| {} | {} | {}: {} above {} | {} | **{}** |\n", c.claim.text, c.claim.source, c.claim.metric, label_of(r, c.claim.better), label_of(r, c.claim.worse), difference_text(c), verdict_word(c.verdict));
    }
    out += "\n*agrees* and *disagrees* need an interval that excludes 0; everything else is *undecided*, and that is a result.\n";
  }
  for (const auto& [arm, masked] : r.masked) {
    for (const auto& [title, side] : {std::pair("A > 0", &masked.positive), std::pair("A < 0", &masked.negative)}) {
      out += fmt::format("\n## {}: most masked tokens, {}\n\n", label_of(r, arm), title);
      if (side->empty()) {
        out += "None.\n";
        continue;
      }
      out += "| token | masked | of its occurrences | mean mu | mean pi | mean entropy |\n|---|---|---|---|---|---|\n";
      for (std::size_t i = 0; i < std::min(kMaskedShown, side->size()); ++i) {
        const MaskedToken& m = (*side)[i];
        out += fmt::format("| `{}` | {:.0f} | {:.2f} % | {:.3f} | {:.3f} | {:.3f} |\n", m.text == "|" ? "\\|" : m.text, m.count, 100 * m.count / m.seen, m.mu, m.pi, m.entropy);
      }
    }
  }
  return out;
}

std::string experiment_html(const ExperimentResult& r, const std::string& command) {
  const Experiment& e = r.experiment;
  std::string body = fmt::format("<h1>{}</h1><p>{}</p><p class=\"dim\">{}</p><p class=\"dim\">Made by <code>{}</code>; seeds {}. Intervals: Student's t over seeds, 95%.</p>", html_escape(e.title),
                                 html_escape(e.question), html_escape(e.setup), html_escape(command), seeds_text(e.seeds));
  body += "<h2>Results</h2><div style=\"overflow-x:auto\"><table class=\"results\"><tr><th>setting</th>";
  for (const Column& c : kColumns) { body += fmt::format("<th>{}</th>", html_escape(c.title)); }
  body += "<th>stopped</th></tr>";
  for (const ArmResult& a : r.arms) {
    body += fmt::format("<tr><td>{}</td>", html_escape(a.arm.label));
    for (const Column& c : kColumns) { body += fmt::format("<td>{}</td>", html_escape(spread(a.outcomes.at(c.key)))); }
    std::string why;
    for (const std::string& f : a.failures) { why += f.empty() ? "" : f + "\n"; }
    body += fmt::format("<td title=\"{}\">{} of {}</td></tr>", html_escape(why), failures(a), a.failures.size());
  }
  body += "</table></div><p class=\"dim\">Mean over seeds, with the smallest and the largest. stopped: runs that ended at a tripwire; the steps that they did not make count as reward 0.</p>";
  if (!r.claims.empty()) {
    body += "<h2>Against the literature</h2><div style=\"overflow-x:auto\"><table class=\"results\"><tr><th>statement</th><th>source</th><th>measured as</th><th>difference</th><th>here</th></tr>";
    for (const ClaimResult& c : r.claims) {
      body += fmt::format("<tr><td>{}</td><td>{}</td><td>{}: {} above {}</td><td>{}</td><td><b>{}</b></td></tr>", html_escape(c.claim.text), html_escape(c.claim.source), html_escape(c.claim.metric),
                          html_escape(label_of(r, c.claim.better)), html_escape(label_of(r, c.claim.worse)), html_escape(difference_text(c)), verdict_word(c.verdict));
    }
    body += "</table></div><p class=\"dim\">agrees and disagrees need an interval that excludes 0; everything else is undecided, and that is a result.</p>";
  }
  body += "<h2>Curves</h2><div class=\"grid2\">";
  for (const std::string& key : e.curves) { body += rl::plot_figure(curve_plot(r, key)); }
  body += "</div>";
  for (const auto& [arm, masked] : r.masked) {
    for (const auto& [title, side] : {std::pair("A > 0", &masked.positive), std::pair("A < 0", &masked.negative)}) {
      body += fmt::format("<h2>{}: most masked tokens, {}</h2>", html_escape(label_of(r, arm)), html_escape(title));
      body += "<div style=\"overflow-x:auto\"><table class=\"results\"><tr><th>token</th><th>masked</th><th>of its occurrences</th><th>mean mu</th><th>mean pi</th><th>mean entropy</th></tr>";
      for (std::size_t i = 0; i < std::min(kMaskedShown, side->size()); ++i) {
        const MaskedToken& m = (*side)[i];
        body += fmt::format("<tr><td><code>{}</code></td><td>{:.0f}</td><td>{:.2f} %</td><td>{:.3f}</td><td>{:.3f}</td><td>{:.3f}</td></tr>", html_escape(m.text), m.count, 100 * m.count / m.seen, m.mu, m.pi, m.entropy);
      }
      body += "</table></div>";
    }
  }
  return rl::html_page(e.title, body);
}

}  // namespace minirl::audit
