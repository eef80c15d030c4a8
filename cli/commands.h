// minirl cli/commands.h -- one function a subcommand adds itself to the command line; each has a
// file of its own.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/error.h"

namespace minirl::cli {

/// What main runs after the command line has been understood.
struct Chosen {
  std::function<Exit()> run;
  std::vector<std::string> command_line;
};

void add_train(CLI::App& app, Chosen& chosen);
void add_plan(CLI::App& app, Chosen& chosen);
void add_bench(CLI::App& app, Chosen& chosen);
void add_eval(CLI::App& app, Chosen& chosen);
void add_prepare(CLI::App& app, Chosen& chosen);
void add_sample(CLI::App& app, Chosen& chosen);
void add_inspect(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen);
void add_convert(CLI::App& app, Chosen& chosen);
void add_init(CLI::App& app, Chosen& chosen);
void add_replay(CLI::App& app, Chosen& chosen);
void add_report(CLI::App& app, Chosen& chosen);
void add_reward(CLI::App& app, Chosen& chosen);
void add_serve(CLI::App& app, Chosen& chosen);
void add_tokenize(CLI::App& app, Chosen& chosen);
void add_explain(CLI::App& app, Chosen& chosen);
void add_gradcheck(CLI::App& app, Chosen& chosen);
void add_losslab(CLI::App& app, Chosen& chosen);
void add_reproduce(CLI::App& app, Chosen& chosen);
void add_verify(CLI::App& app, Chosen& chosen);
void add_doctor(CLI::App& app, Chosen& chosen);
void add_version(CLI::App& app, Chosen& chosen);

}  // namespace minirl::cli
