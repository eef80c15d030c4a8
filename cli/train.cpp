// minirl train: the whole run, from a configuration to a trained policy.
#include <cstdio>

#include "cli/commands.h"
#include "cli/config_args.h"
#include "core/build_info.h"
#include "core/signals.h"
#include "rl/plan.h"
#include "rl/run_log.h"
#include "rl/summary.h"

namespace minirl::cli {
namespace {

struct TrainArgs {
  ConfigArgs config;
  bool resume = false, overwrite = false, dry_run = false;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string places(const rl::RunDir& dir, const rl::Trainer& trainer) {
  const std::string root = dir.root().string();
  const std::string last = (dir.checkpoints() / rl::checkpoint_name(trainer.progress())).string();
  return fmt::format(
      "\n  everything is in   {}\n  curves             {}\n  metrics            {}\n  trained "
      "weights    {}   (a Hugging Face folder)\n"
      "  try it             minirl sample {}\n",
      root, dir.report().string(), dir.metrics().string(), last, root);
}

// Running out of memory after an hour is worse than not starting.
void check_memory(const rl::Config& config, const rl::Plan& plan) {
  if (config.runtime.memory_check == "off") {
    return;
  }
  try {
    rl::require_memory(config, plan.memory_shape, rl::available_memory());
  } catch (const Error& error) {
    if (config.runtime.memory_check == "refuse") {
      throw;
    }
    std::fputs(fmt::format("minirl: warning: {}\n", error.what()).c_str(), stderr);
  }
}

Exit train(const TrainArgs& args, const std::vector<std::string>& command_line) {
  if (args.resume && args.overwrite) {
    fail(Exit::usage, "--resume and --overwrite contradict each other",
         "--resume goes on with a run, --overwrite starts it anew");
  }
  const Stopwatch watch;
  const ChosenConfig config = load(args.config);
  const rl::Plan plan = rl::make_plan(config.loaded);
  if (args.dry_run) {
    print(rl::plan_text(plan));
    return Exit::ok;
  }
  catch_signals();
  for (const auto& w : plan.warnings) {
    std::fputs(fmt::format("minirl: warning: {}\n", w).c_str(), stderr);
  }
  check_memory(config.loaded.config, plan);
  const Exec exec = rl::make_exec(config.loaded.config.runtime);
  using Open = rl::RunDir::Open;
  const Open mode = args.resume ? Open::resume : args.overwrite ? Open::overwrite : Open::fresh;
  rl::RunDir dir(config.loaded, config.source, command_line, mode);
  if (config.loaded.config.runtime.progress != "off") {
    std::fputs(fmt::format("{} -> {}: {} parameters, {} threads, {}; {} pretraining updates, then "
                           "{} steps of {}\n",
                           config.source.name(), dir.root().string(), plan.parameters, exec.threads,
                           name(active_isa()), plan.pretrain_updates, plan.steps, plan.algorithm)
                   .c_str(),
               stderr);
  }
  std::unique_ptr<rl::RunLog> log;
  std::unique_ptr<rl::Trainer> trainer;
  try {
    log = std::make_unique<rl::RunLog>(dir, config.loaded, exec.threads);
    trainer = std::make_unique<rl::Trainer>(config.loaded, dir.checkpoints(), *log, caught_signal);
  } catch (const Error&) {
    if (mode == Open::fresh) {
      dir.discard();
    }
    throw;
  }
  if (args.resume) {
    trainer->resume();
    log->rewind(trainer->progress());
  }
  try {
    trainer->run();
  } catch (const Error&) {
    try {
      log->write_report();
    } catch (const Error&) {
    }  // the first error is the one to tell
    throw;
  }
  log->write_report();
  print(fmt::format("\n{}: {} steps in {}\n\n{}{}", config.loaded.config.run.name, plan.steps,
                    rl::duration(watch.seconds()),
                    rl::summary_text(rl::read_evaluations(dir.root()), 3), places(dir, *trainer)));
  return Exit::ok;
}

}  // namespace

void add_train(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "train", "train a policy: base model, then reinforcement learning, with a run folder");
  const auto args = std::make_shared<TrainArgs>();
  add_config_args(*command, args->config);
  command->add_flag("--resume", args->resume,
                    "go on with the run from its newest whole checkpoint");
  command->add_flag("--overwrite", args->overwrite, "replace a former run of the same name");
  command->add_flag("--dry-run", args->dry_run, "say what would be done (minirl plan) and stop");
  command->callback([&chosen, args] {
    chosen.run = [&chosen, args] { return train(*args, chosen.command_line); };
  });
}

}  // namespace minirl::cli
