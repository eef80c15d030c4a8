// minirl train: the whole run, from a configuration to a trained policy.
#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/config_args.h"
#include "core/build_info.h"
#include "core/signals.h"
#include "rl/device.h"
#include "rl/memory_plan.h"
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

// What the run will take of the device's memory, by category. Weights are not packed there.
void tell_device_memory(const rl::Config& config, const rl::Plan& plan) {
  const rl::DeviceChoice device = rl::choose_device(config);
  if (!device.cuda || config.runtime.progress == "off") {
    return;
  }
  const rl::MemoryPlan m = rl::plan_memory(config, plan.memory_shape);
  const Index held = m.weights + m.gradients + m.moments + m.copies;
  std::fputs(
      fmt::format("minirl: device memory: weights {}, gradients {}, moments {}, copies {}, while "
                  "sampling {}, while training {}: at most {} of {} free\n",
                  rl::binary_bytes(m.weights), rl::binary_bytes(m.gradients),
                  rl::binary_bytes(m.moments), rl::binary_bytes(m.copies),
                  rl::binary_bytes(m.sampling()), rl::binary_bytes(m.activations),
                  rl::binary_bytes(held + std::max(m.sampling(), m.activations)),
                  rl::binary_bytes(device.free_bytes))
          .c_str(),
      stderr);
}

// Running out of memory after an hour is worse than not starting.
void check_memory(const rl::Config& config, const rl::Plan& plan) {
  if (config.runtime.memory_check == "off") {
    return;
  }
  try {
    const rl::DeviceChoice device = rl::choose_device(config);
    rl::require_memory(config, plan.memory_shape,
                       device.cuda ? device.free_bytes : rl::available_memory());
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
  tell_device(config.loaded.config);
  tell_device_memory(config.loaded.config, plan);
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
  add_device_option(*command, args->config.device);
  command->add_flag("--resume", args->resume,
                    "go on with the run from its newest whole checkpoint");
  command->add_flag("--overwrite", args->overwrite, "replace a former run of the same name");
  command->add_flag("--dry-run", args->dry_run, "say what would be done (minirl plan) and stop");
  command->callback([&chosen, args] {
    chosen.run = [&chosen, args] { return train(*args, chosen.command_line); };
  });
}

}  // namespace minirl::cli
