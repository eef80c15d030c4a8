// minirl replay: one step once more, from the folder of a run or from a bundle, and every hash
// compared.
#include "audit/replay.h"

#include <cstdio>

#include "cli/commands.h"
#include "core/signals.h"

namespace minirl::cli {
namespace {

struct ReplayArgs {
  std::string source, token, bundle;
  Index step = 0;
  bool json = false, quiet = false;
};

Exit replay(const ReplayArgs& args) {
  audit::ReplayOptions options;
  options.step = args.step;
  options.bundle = args.bundle;
  if (!args.token.empty()) {
    options.token = audit::parse_token_place(args.token);
  }
  catch_signals();
  options.interrupted = caught_signal;
  if (!args.quiet) {
    options.note = [](const std::string& text) { std::fputs((text + "\n").c_str(), stderr); };
  }
  const audit::ReplayReport report = audit::replay(args.source, options);
  std::fputs((args.json ? replay_json(report) : replay_text(report)).c_str(), stdout);
  if (!report.first_difference.empty()) {
    std::fflush(stdout);
    throw Error(Exit::mismatch, report.first_difference);
  }
  if (!args.bundle.empty() && !args.json) {
    std::fputs(fmt::format("\nwritten: {}; `minirl replay {}` checks the step anywhere\n",
                           args.bundle, args.bundle)
                   .c_str(),
               stdout);
  }
  return Exit::ok;
}

}  // namespace

void add_replay(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "replay", "make one train step again in memory and compare every hash of the ledger");
  const auto args = std::make_shared<ReplayArgs>();
  command->add_option("SOURCE", args->source, "folder of a run, or a bundle")->required();
  command->add_option("--step", args->step, "train step, counted from 1; a bundle knows its own")
      ->check(CLI::Range(1, 1 << 30));
  command
      ->add_option("--token", args->token,
                   "I,T: everything about token T of completion I of the step, both from 0")
      ->type_name("I,T");
  command
      ->add_option("--bundle", args->bundle, "write what another machine needs to check the step")
      ->type_name("FILE");
  command->add_flag("--json", args->json, "one JSON document");
  command->add_flag("--quiet", args->quiet, "no progress on stderr");
  command->callback([&chosen, args] { chosen.run = [args] { return replay(*args); }; });
}

}  // namespace minirl::cli
