// minirl verify ledger: the hashes of ledger.jsonl against the rest of a run's folder.
#include "audit/verify_ledger.h"

#include <cstdio>

#include "cli/verify.h"

namespace minirl::cli {
namespace {

struct Args {
  std::string run;
  bool json = false;
};

Exit verify_ledger(const Args& args) {
  const audit::LedgerCheck check = audit::verify_ledger(args.run);
  std::fputs((args.json ? ledger_check_json(check) : ledger_check_text(check)).c_str(), stdout);
  if (!check.first_difference.empty()) {
    std::fflush(stdout);
    throw Error(Exit::mismatch, check.first_difference);
  }
  return Exit::ok;
}

void add(CLI::App& verify, Chosen& chosen) {
  const auto args = std::make_shared<Args>();
  auto* command = verify.add_subcommand(
      "ledger",
      "ledger.jsonl against its own chain, the configuration, stored rollouts and checkpoints");
  command->add_option("RUN", args->run, "folder of a run, e.g. runs/qwen3")->required();
  command->add_flag("--json", args->json, "one JSON document");
  command->callback([&chosen, args] { chosen.run = [args] { return verify_ledger(*args); }; });
}

const bool registered = VerifyCommands::add("ledger", {&add});

}  // namespace
}  // namespace minirl::cli
