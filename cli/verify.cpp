// minirl verify: the parent of the commands that check a claim (cli/verify.h).
#include "cli/verify.h"

namespace minirl::cli {

void add_verify(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("verify", "check a claim; exit code 3 where it does not hold");
  command->require_subcommand(1);
  for (const std::string& name : VerifyCommands::names()) {
    VerifyCommands::find("verification", name).add(*command, chosen);
  }
}

}  // namespace minirl::cli
