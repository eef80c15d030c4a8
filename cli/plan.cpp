// minirl plan: what a configuration means, without touching weights.
#include "rl/plan.h"

#include <cstdio>

#include "cli/commands.h"
#include "cli/config_args.h"

namespace minirl::cli {

void add_plan(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "plan", "say what a run would do: steps, weights, memory, checks; computes nothing");
  const auto args = std::make_shared<ConfigArgs>();
  const auto json = std::make_shared<bool>(false);
  add_config_args(*command, *args);
  command->add_flag("--json", *json, "for programs");
  command->callback([&chosen, args, json] {
    chosen.run = [args, json] {
      const auto config = load(*args);
      const auto plan = rl::make_plan(config.loaded);
      std::fputs((*json ? rl::plan_json(plan) : rl::plan_text(plan)).c_str(), stdout);
      return Exit::ok;
    };
  });
}

}  // namespace minirl::cli
