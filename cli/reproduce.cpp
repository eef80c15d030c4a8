// minirl reproduce: the papers' questions on a tiny model, with the mismatch dial; one report each.
#include <algorithm>
#include <cstdio>

#include "audit/bounds.h"
#include "audit/experiment.h"
#include "cli/commands.h"
#include "cli/config_args.h"
#include "cli/embedded.h"
#include "core/files.h"
#include "core/registry.h"
#include "core/signals.h"

namespace minirl::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFolder = "experiments/";

struct ReproduceArgs {
  std::string name, out = "reproduce";
  std::vector<std::int64_t> seeds;
  std::vector<std::string> sets;
};

std::vector<std::string> names() {
  std::vector<std::string> out = {"binary-blind", "bounds"};
  for (const auto& f : embedded_files()) {
    if (f.name.substr(0, kFolder.size()) == kFolder) { out.emplace_back(f.name.substr(kFolder.size(), f.name.rfind('.') - kFolder.size())); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

Exit list() {
  print("experiments (minirl reproduce NAME)\n\n");
  for (const std::string& name : names()) {
    std::string title = name == "bounds" ? "How tight are the improvement bounds?" : name == "binary-blind" ? "Where Binary is blind and Top-K is not" : "";
    for (const auto& f : embedded_files()) {
      if (f.name == std::string(kFolder) + name + ".toml") { title = audit::parse_experiment(std::string(f.name), f.text).title; }
    }
    print(fmt::format("{:<16}{}\n", name, title));
  }
  return Exit::ok;
}

Exit reproduce(const ReproduceArgs& args) {
  if (args.out.empty()) { fail(Exit::usage, "--out is empty", "name a folder for the report and the runs"); }
  if (args.name.empty()) {
    if (!args.seeds.empty() || !args.sets.empty()) { fail(Exit::usage, "which experiment?", "minirl reproduce alone lists them"); }
    return list();
  }
  std::string command = "minirl reproduce " + args.name;
  for (const auto seed : args.seeds) { command += fmt::format(" --seed {}", seed); }
  for (const auto& s : args.sets) { command += " --set " + s; }
  const fs::path out(args.out);
  if (args.name == "bounds" || args.name == "binary-blind") {
    if (!args.seeds.empty() || !args.sets.empty()) { fail(Exit::usage, fmt::format("{} trains nothing: --seed and --set have no effect", args.name)); }
    const std::string text = args.name == "bounds" ? audit::bounds_markdown(audit::bound_grid(21), command) : audit::binary_blind_markdown(command);
    make_directory(out);
    write_file_atomic(out / (args.name + ".md"), text);
    print(text);
    return Exit::ok;
  }
  // A file of one's own, or a bundled one.
  std::error_code error;
  ConfigSource source;
  if (fs::is_regular_file(args.name, error)) {
    source = ConfigSource::file(args.name);
  } else {
    const auto known = names();
    if (std::find(known.begin(), known.end(), args.name) == known.end()) {
      const std::string near = nearest_name(args.name, known);
      std::string all;
      for (const auto& n : known) { all += (all.empty() ? "" : ", ") + n; }
      fail(Exit::usage, fmt::format("there is no experiment '{}'", args.name), (near.empty() ? "" : fmt::format("did you mean {}? ", near)) + "known: " + all);
    }
    for (const auto& f : embedded_files()) {
      if (f.name == std::string(kFolder) + args.name + ".toml") { source = ConfigSource::text(std::string(f.name), f.text); }
    }
  }
  const audit::Experiment experiment = audit::parse_experiment(source.name(), source.content());
  catch_signals();
  audit::ExperimentOptions options;
  options.out = out;
  options.seeds.assign(args.seeds.begin(), args.seeds.end());
  options.sets = args.sets;
  options.sets.insert(options.sets.begin(), "runtime.progress=off");
  options.interrupted = caught_signal;
  options.say = [](const std::string& line) { std::fputs((line + "\n").c_str(), stderr); };
  options.find_config = find_config;
  audit::ExperimentResult result;
  try {
    result = audit::run_experiment(experiment, options);
  } catch (const Error& e) {
    if (e.code() != Exit::interrupted && e.code() != Exit::terminated) { throw; }
    throw Error(e.code(), fmt::format("stopped by a signal; the runs that are finished are kept in {}/runs: the same command goes on from there", args.out));
  }
  write_file_atomic(out / (experiment.name + ".html"), audit::experiment_html(result, command));
  const std::string text = audit::experiment_markdown(result, command);
  write_file_atomic(out / (experiment.name + ".md"), text);
  print(text + fmt::format("\nwritten: {0}/{1}.html, {0}/{1}.md; the runs are in {0}/runs\n", args.out, experiment.name));
  return Exit::ok;
}

}  // namespace

void add_reproduce(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("reproduce", "re-create a question of the papers on a tiny model; alone: the list");
  const auto args = std::make_shared<ReproduceArgs>();
  command->add_option("NAME", args->name, "an experiment, or a file that declares one");
  command->add_option("--out", args->out, "folder for the report and the runs")->capture_default_str()->type_name("DIR");
  command->add_option("--seed", args->seeds, "another seed instead of the experiment's; may be repeated")->take_all()->allow_extra_args(false)->check(check_seed);
  command->add_option("--set", args->sets, "override one key in every run: --set table.key=value")->take_all()->allow_extra_args(false)->type_name("KEY=VALUE");
  command->callback([&chosen, args] { chosen.run = [args] { return reproduce(*args); }; });
}

}  // namespace minirl::cli
