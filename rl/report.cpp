#include "rl/report.h"

#include "rl/html_page.h"
#include "rl/html_text.h"
#include "rl/report/compare.h"
#include "rl/report/curves.h"
#include "rl/report/evaluation_view.h"
#include "rl/report/sheet.h"
#include "rl/report/token_map.h"

namespace minirl::rl {
namespace {

using report::RunGroup;
using report::RunView;

constexpr const char* kStyle =
    R"(nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin:12px 0;font-size:14px}
.sheet{display:grid;grid-template-columns:minmax(90px,150px) minmax(0,1fr);gap:4px 16px;margin:8px 0}.sheet dt{color:var(--dim)}.sheet dd{margin:0;max-width:95ch;overflow-wrap:anywhere}
@media (max-width:600px){.sheet{grid-template-columns:90px minmax(0,1fr);gap:4px 10px}}
.results th{white-space:nowrap}.results td>b+.dim{white-space:nowrap}.results th[scope=row]{font-weight:400;color:var(--dim)}
)";

std::string head(const std::vector<const RunView*>& runs) {
  std::string out;
  for (const RunView* run : runs) {
    const std::string settings =
        run->config() ? fmt::format(", {}, seed {}", run->config()->config.algorithm.name,
                                    run->config()->config.run.seed)
                      : std::string();
    out += fmt::format(
        "<p class=\"dim\">{}{} steps of reinforcement learning after {} of pretraining{}</p>",
        runs.size() > 1 ? "<b>" + html_visible(run->name(), 80) + "</b>: " : "",
        run->metrics().steps("train"), run->metrics().steps("pretrain"), html_visible(settings));
    for (const std::string& note : run->notes()) {
      out += "<p class=\"warn\">" + html_visible(note, 600) + "</p>";
    }
  }
  return out;
}

// "Tokens", or "Tokens: NAME" where there are several.
std::string titled(const std::string& title, const RunGroup& group, bool several) {
  return several ? title + ": " + group.runs.front()->name() : title;
}

}  // namespace

std::vector<ReportSection> report_sections(const std::vector<const RunView*>& runs) {
  const std::vector<RunGroup> groups = report::group_by_seed(runs);
  const bool several = runs.size() > 1;
  std::vector<ReportSection> out = {{"run", "", head(runs)},
                                    {"evaluation", "Evaluation", report::evaluation_table(runs)},
                                    {"curves", "Curves", report::curves(groups)}};
  if (several) {
    out.insert(out.begin() + 1, {"comparison", "Differences", report::comparison_html(runs)});
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {  // of several seeds the first
    const std::string number = i == 0 ? "" : fmt::format("-{}", i + 1);
    const RunView& run = *groups[i].runs.front();
    out.push_back({"completions" + number, titled("Before and after", groups[i], several),
                   report::completions(run)});
    out.push_back({"tokens" + number, titled("Token by token", groups[i], several),
                   report::token_map(run, "tokens" + number)});
    out.push_back({"semantics" + number, titled("What was computed", groups[i], several),
                   report::semantics(run)});
  }
  out.push_back({"hashes", "Hashes", report::hashes(runs)});
  out.push_back({"cost", "Cost", report::cost(runs)});
  if (!several) {
    out.push_back({"sources", "How it was made", report::sources(*runs.front())});
  }
  return out;
}

std::string report_page(const std::string& title, const std::vector<ReportSection>& sections,
                        const std::string& script, bool live) {
  std::string links;
  std::string body;
  for (const ReportSection& s : sections) {
    const std::string name = html_visible(s.title, 100);
    links += s.title.empty() ? "" : fmt::format("<a href=\"#{}\">{}</a>", s.id, name);
    body += fmt::format("<section id=\"{}\">{}<div class=\"content\">{}</div></section>", s.id,
                        s.title.empty() ? "" : "<h2>" + name + "</h2>", s.html);
  }
  const auto after_head = body.find("</section>") + 10;
  body.insert(after_head, "<nav aria-label=\"parts of this page\">" + links + "</nav>");
  return html_page(title, "<main><h1>" + html_visible(title, 200) + "</h1>" + body + "</main>",
                   kStyle + report::completions_style() + report::token_map_style(),
                   report::token_map_script() + script, live);
}

OpenRuns::OpenRuns(const std::vector<std::filesystem::path>& folders) {
  for (const auto& folder : folders) {
    views_.push_back(std::make_unique<RunView>(folder));
    pointers_.push_back(views_.back().get());
  }
  refresh();
}

bool OpenRuns::refresh() {
  bool changed = false;
  for (const auto& view : views_) {
    changed = view->refresh() || changed;
  }
  return changed;
}

std::string report_title(const OpenRuns& runs) {
  std::string out;
  for (const RunView* run : runs.all()) {
    out += (out.empty() ? "" : ", ") + run->name();
  }
  return out;
}

std::string report_html(const OpenRuns& runs) {
  return report_page(report_title(runs), report_sections(runs.all()));
}

}  // namespace minirl::rl
