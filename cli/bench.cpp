// minirl bench: how fast a model trains and samples on this machine, and how much of the machine that is.
#include <cstdio>
#include <filesystem>

#include <sys/resource.h>
#include <unistd.h>

#include "audit/speed_report.h"
#include "cli/commands.h"
#include "cli/config_args.h"
#include "cli/subject_args.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/signals.h"
#include "model/model_presets.h"
#include "rl/trainer.h"

namespace minirl::cli {
namespace {

namespace fs = std::filesystem;

struct BenchArgs {
  SubjectArgs subject;
  audit::SpeedOptions speed;
  Index steps = 5;
  bool json = false, audit_cost = false;
  std::string html;
};

Index peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<Index>(usage.ru_maxrss) * 1024;  // Linux counts KiB
}

bool is_preset(const std::string& name) {
  const auto& all = model_presets();
  return std::any_of(all.begin(), all.end(), [&](const ModelPreset& p) { return p.name == name; });
}

/// The configuration of the steps: no pretraining, files below `scratch`, the same model.
std::pair<rl::LoadedConfig, ConfigSource> step_config(const SubjectArgs& subject, const OpenedModel& opened, const fs::path& scratch,
                                                      Index steps) {
  const std::string name = subject.config.empty() ? "qwen3.toml" : subject.config;
  std::vector<ConfigSource> sources = {find_config(name)};
  if (!subject.model.empty()) {  // what open_model found: the run's own configuration
    sources = {ConfigSource::text("the opened model", opened.loaded.resolved_toml())};
  }
  for (const std::string& s : subject.sets) {
    sources.push_back(ConfigSource::set(s));
  }
  for (const std::string& s : {std::string("pretrain.steps=0"), std::string("pretrain.warmup_steps=0"), std::string("runtime.progress=\"off\""),
                               "run.dir=" + to_toml(scratch.string()), std::string("run.name=\"steps\""), fmt::format("train.steps={}", steps + 2)}) {
    sources.push_back(ConfigSource::set(s));
  }
  if (!subject.model.empty()) {
    sources.push_back(ConfigSource::set("model.checkpoint=" + to_toml(opened.checkpoint.string())));
  }
  return {rl::load_config(sources), sources.front()};
}

Exit bench(BenchArgs args) {
  catch_signals();
  args.speed.interrupted = [] { return caught_signal() != 0; };
  audit::SpeedReport report;
  // A word that is no folder is the name of a shape or of a configuration.
  std::error_code error;
  SubjectArgs& subject = args.subject;
  const std::string named = subject.model;
  if (!named.empty() && !fs::is_directory(named, error) && is_preset(named)) {
    if (!subject.config.empty() || !subject.sets.empty()) {
      fail(Exit::usage, fmt::format("--config and --set say nothing about the shape '{}'", named), "leave them out, or name a configuration with --model");
    }
    const Exec exec{.threads = default_threads()};
    const auto model = make_decoder(find_model_preset(named).config, DType::f32, 1);
    report = audit::measure_speed(*model, args.speed, exec);
    report.subject = named + " with random weights";
  } else {
    if (!named.empty() && !fs::is_directory(named, error)) {
      if (!subject.config.empty()) { fail(Exit::usage, fmt::format("there is no folder '{}'", named), "--model takes a folder, a shape or a configuration"); }
      subject.config = std::exchange(subject.model, {});
    }
    OpenedModel opened = open_subject(subject);
    const Exec exec = rl::make_exec(opened.loaded.config.runtime);
    report = audit::measure_speed(*opened.model, args.speed, exec);
    report.subject = subject_words(subject, opened);
    opened.model.reset();
    if (args.steps > 0) {
      const fs::path scratch = fs::temp_directory_path() / fmt::format("minirl-bench-{}", ::getpid());
      const auto [loaded, source] = step_config(subject, opened, scratch, args.steps);
      report.step = audit::measure_steps(loaded, source, scratch, {args.steps, args.audit_cost, args.speed.interrupted});
    }
  }
  report.peak_resident_bytes = peak_resident_bytes();
  std::fputs((args.json ? audit::speed_json(report) : audit::speed_text(report)).c_str(), stdout);
  if (!args.html.empty()) {
    write_file_atomic(args.html, audit::speed_html(report));
    std::fputs(fmt::format("written: {}\n", args.html).c_str(), stderr);
  }
  return Exit::ok;
}

}  // namespace

void add_bench(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("bench", "how fast a model trains and samples here, and what share of the machine that is");
  const auto args = std::make_shared<BenchArgs>();
  add_subject_args(*command, args->subject);
  command->get_option("--model")->description("folder of a run, checkpoint or Hugging Face model; or a shape such as qwen3-0.6b; or a configuration");
  command->add_option("--seconds", args->speed.seconds, "that each speed is repeated for; at least five times")->check(CLI::Range(0.0, 3600.0))->capture_default_str();
  command->add_option("--sequences", args->speed.sequences, "sequences of a training step")->check(CLI::Range(1, 65536))->capture_default_str();
  command->add_option("--length", args->speed.length, "tokens of each")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  command->add_option("--new-tokens", args->speed.new_tokens, "tokens of a completion")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  command->add_option("--batch", args->speed.batches, "completions sampled at once; may be given several times")->check(CLI::Range(1, 65536))->capture_default_str();
  command->add_option("--steps", args->steps, "whole steps of a run to measure; 0: none")->check(CLI::Range(0, 10000))->capture_default_str();
  command->add_flag("--audit-cost", args->audit_cost, "make every step a second time with nobody watching: what ledger, token trail, files and tripwires cost");
  command->add_flag("--growth", args->speed.growth, "also curves over tokens, context, vocabulary and group size");
  command->add_flag("--json", args->json, "one JSON document");
  command->add_option("--html", args->html, "write a page with the figures")->type_name("FILE");
  command->callback([&chosen, args] { chosen.run = [args] { return bench(*args); }; });
}

}  // namespace minirl::cli
