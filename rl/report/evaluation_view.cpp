#include "rl/report/evaluation_view.h"

#include "rl/html_text.h"

namespace minirl::rl::report {
namespace {

constexpr std::size_t kTextBytes = 1500, kPromptBytes = 1000;

std::string cell(const Interval& i) {
  return fmt::format("<td><b>{:.3f}</b> <span class=\"dim\">[{:.3f}, {:.3f}]</span></td>", i.value,
                     i.lower, i.upper);
}

std::string row(const std::string& run, const Evaluation& e) {
  return fmt::format(
      "<tr>{}<th scope=\"row\">{}</th>{}{}{}<td>{:.1f}%</td><td>{:.1f}%</td><td>{:.1f}</td></tr>",
      run, e.step, cell(e.average), cell(e.pass), cell(e.majority), 100 * e.answered_frac,
      100 * e.truncated_frac, e.length_mean);
}

// How the last evaluation differs from the first; empty where that cannot be said.
std::string gain(const RunView& run) {
  const auto& all = run.evaluations();
  if (all.size() < 2 || !same_problems(all.front(), all.back()) || all.front().rows.size() < 2) {
    return "";
  }
  const Interval i = improvement(all.front(), all.back());
  return fmt::format(
      "<p>From step {} to step {} avg@{} changed by <b>{:+.3f}</b> [{:+.3f}, {:+.3f}] on the same "
      "problems.</p>",
      all.front().step, all.back().step, all.front().samples, i.value, i.lower, i.upper);
}

std::string completion(const Evaluation& e, std::size_t problem, const std::string& when) {
  if (problem >= e.rows.size() || e.rows[problem].samples.empty()) {
    return "";
  }
  const SampleRow& s = e.rows[problem].samples.front();
  return fmt::format(
      "<div class=\"said\"><p class=\"dim\">{}: reward <b>{:g}</b>, {} tokens{} "
      "<span>({})</span></p>"
      "<pre>{}</pre></div>",
      when, s.reward, s.tokens, s.stopped ? "" : ", cut off", html_visible(s.why, 200),
      html_visible(s.text, kTextBytes));
}

}  // namespace

std::string evaluation_table(const std::vector<const RunView*>& runs) {
  const Evaluation* any = nullptr;
  const bool several = runs.size() > 1;
  std::string rows;
  std::string gains;
  for (const RunView* run : runs) {
    const auto& all = run->evaluations();
    for (const Evaluation& e : all) {
      any = &e;
      if (several && &e != &all.front() && &e != &all.back()) {
        continue;
      }
      rows += row(several ? "<td>" + html_visible(run->name(), 80) + "</td>" : "", e);
    }
    gains += several ? "" : gain(*run);
  }
  if (any == nullptr) {
    return "<p class=\"dim\">There is no evaluation yet.</p>";
  }
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"evaluations\"><table "
      "class=\"results\"><tr>{}<th>step</th><th>avg@{}</th><th>pass@{}</th><th>maj@{}</th>"
      "<th>answered</th><th>truncated</th><th>tokens, mean</th></tr>{}</table></div>{}"
      "<p class=\"dim\">{} held-out problems, {} samples each, temperature {:g}; 95% intervals "
      "over "
      "problems: {}.</p>",
      several ? "<th>run</th>" : "", any->samples, any->samples, any->samples, rows, gains,
      any->problems, any->samples, any->temperature, html_visible(any->average.method));
}

std::string completions(const RunView& run) {
  const auto& all = run.evaluations();
  if (all.empty()) {
    return "<p class=\"dim\">There is no evaluation yet.</p>";
  }
  const bool both = all.size() > 1;
  std::string out =
      "<p class=\"dim\">The first held-out problems, the first sample of each: not chosen by how "
      "well they look.</p>";
  const std::size_t shown = std::min(RunView::kShownProblems, all.front().rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ProblemRow& p = all.front().rows[i];
    out += fmt::format(
        "<article class=\"problem\"><p><code>{}</code> <span class=\"dim\">gold</span> "
        "<code>{}</code></p><div class=\"pair\">{}{}</div></article>",
        html_visible(p.prompt, kPromptBytes), html_visible(p.answer, 200),
        completion(all.front(), i,
                   fmt::format("{}step {}", both ? "before, " : "", all.front().step)),
        both && same_problems(all.front(), all.back())
            ? completion(all.back(), i, fmt::format("after, step {}", all.back().step))
            : "");
  }
  return out;
}

std::string completions_style() {
  return R"(.problem{border-top:1px solid var(--rule);padding:10px 0}.problem p{margin:0 0 6px;max-width:none;overflow-wrap:anywhere}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:10px}
.said{background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:8px 12px;min-width:0}.said p{font-size:13px}.said pre{margin:0;unicode-bidi:isolate}
)";
}

}  // namespace minirl::rl::report
