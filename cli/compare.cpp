// minirl compare: where several runs differ, in settings, bits and results.
#include "rl/report/compare.h"

#include <cstdio>

#include "cli/commands.h"
#include "core/files.h"
#include "rl/report.h"

namespace minirl::cli {
namespace {

struct Args {
  std::vector<std::filesystem::path> runs;
  std::string out;
  bool json = false, identical = false;
};

Exit compare(const Args& args) {
  const rl::OpenRuns runs(args.runs);
  const std::string text =
      args.json ? rl::report::comparison_json(runs.all()) : rl::report::comparison_text(runs.all());
  std::fputs(text.c_str(), stdout);
  if (!args.out.empty()) {
    write_file_atomic(args.out, rl::report_html(runs));
  }
  bool identical = true;
  for (const rl::report::RunView* run : runs.all()) {
    const auto first = runs.all().front()->folder() / "ledger.jsonl";
    identical =
        identical && rl::report::compare_ledgers(first, run->folder() / "ledger.jsonl").identical();
  }
  return args.identical && !identical ? Exit::mismatch : Exit::ok;
}

}  // namespace

void add_compare(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "compare", "where runs differ: settings, the first step and hash, evaluations, last metrics");
  const auto args = std::make_shared<Args>();
  command->add_option("RUN", args->runs, "folders of two or more runs; the first is the reference")
      ->required()
      ->expected(2, 1000);
  command->add_flag("--json", args->json, "for programs");
  command->add_option("--out", args->out, "also write a page with the curves over each other")
      ->type_name("FILE");
  command->add_flag("--identical", args->identical,
                    "exit 3 unless all hashes of all steps that a run has in common with the first "
                    "are equal");
  command->callback([&chosen, args] { chosen.run = [args] { return compare(*args); }; });
}

}  // namespace minirl::cli
