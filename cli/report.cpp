// minirl report: draws report.html again from what a run's folder holds.
#include "rl/report.h"

#include <cstdio>

#include "cli/commands.h"
#include "core/files.h"
#include "rl/run_dir.h"
#include "rl/summary.h"

namespace minirl::cli {

void add_report(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("report", "write report.html for a run and print its table");
  struct Args {
    std::string run, out;
  };
  const auto args = std::make_shared<Args>();
  command->add_option("RUN", args->run, "folder of the run, e.g. runs/qwen3")->required();
  command->add_option("--out", args->out, "where to write; default: RUN/report.html")
      ->type_name("FILE");
  command->callback([&chosen, args] {
    chosen.run = [args] {
      if (!rl::is_run(args->run)) {
        fail(Exit::usage, fmt::format("'{}' is not a run of minirl", args->run),
             "name the folder that holds config.resolved.toml");
      }
      const std::filesystem::path out = args->out.empty()
                                            ? std::filesystem::path(args->run) / "report.html"
                                            : std::filesystem::path(args->out);
      write_file_atomic(out, rl::report_html(args->run));
      std::fputs(rl::summary_text(rl::read_evaluations(args->run), 3).c_str(), stdout);
      std::fputs(fmt::format("{}\n", out.string()).c_str(), stdout);
      return Exit::ok;
    };
  });
}

}  // namespace minirl::cli
