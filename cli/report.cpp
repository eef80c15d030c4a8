// minirl report: draws report.html again from what a run's folder holds; of several runs one page.
#include "rl/report.h"

#include <cstdio>

#include "cli/commands.h"
#include "core/files.h"
#include "rl/summary.h"

namespace minirl::cli {

void add_report(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "report", "write report.html for a run, or one page for several, and print the table");
  struct Args {
    std::vector<std::filesystem::path> runs;
    std::string out;
  };
  const auto args = std::make_shared<Args>();
  command
      ->add_option("RUN", args->runs,
                   "folders of runs, e.g. runs/qwen3; runs that differ only in run.seed are drawn "
                   "as a band")
      ->required();
  command
      ->add_option("--out", args->out,
                   "where to write; default: RUN/report.html, of several runs ./report.html")
      ->type_name("FILE");
  command->callback([&chosen, args] {
    chosen.run = [args] {
      const std::string html = rl::report_html(rl::OpenRuns(args->runs));
      const bool one = args->runs.size() == 1;
      const std::filesystem::path out = !args->out.empty() ? std::filesystem::path(args->out)
                                        : one              ? args->runs.front() / "report.html"
                                                           : std::filesystem::path("report.html");
      write_file_atomic(out, html);
      if (one) {
        std::fputs(rl::summary_text(rl::read_evaluations(args->runs.front()), 3).c_str(), stdout);
      }
      std::fputs(fmt::format("{}\n", out.string()).c_str(), stdout);
      return Exit::ok;
    };
  });
}

}  // namespace minirl::cli
