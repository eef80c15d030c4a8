// minirl rl/report.h -- report.html: one page about a run, or about several, readable without a
// network (docs/report.md).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "rl/report/run_view.h"

namespace minirl::rl {

/// A part of the page. `html` is what stands below its heading.
struct ReportSection {
  std::string id, title, html;
};

/// The parts for runs that are refreshed: of one run all about it, of several their curves over
/// each other, runs that differ only in run.seed as a band.
std::vector<ReportSection> report_sections(const std::vector<const report::RunView*>& runs);

/// The whole document. `script`: added at its end; `live`: see html_page().
std::string report_page(const std::string& title, const std::vector<ReportSection>& sections,
                        const std::string& script = "", bool live = false);

/// Views of some folders, refreshed. Throws Exit::usage where a folder is no run.
class OpenRuns {
 public:
  explicit OpenRuns(const std::vector<std::filesystem::path>& folders);
  const std::vector<const report::RunView*>& all() const { return pointers_; }
  /// Reads what is new. Returns whether anything is.
  bool refresh();

 private:
  std::vector<std::unique_ptr<report::RunView>> views_;
  std::vector<const report::RunView*> pointers_;
};

/// Both of the above at once. What is missing or damaged is told on the page.
std::string report_html(const OpenRuns& runs);
/// "NAME, NAME"
std::string report_title(const OpenRuns& runs);

}  // namespace minirl::rl
