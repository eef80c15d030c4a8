// minirl losslab: one frozen batch under many losses, through the model.
#include "audit/losslab.h"

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "audit/explain.h"
#include "cli/commands.h"
#include "cli/config_args.h"
#include "cli/subject_args.h"
#include "core/files.h"
#include "core/signals.h"
#include "rl/algorithm_registry.h"
#include "rl/presets.h"
#include "rl/trainer.h"

namespace minirl::cli {
namespace {

struct LabArgs {
  std::string source, out;
  std::vector<std::string> sets, losses;
  audit::LabOptions lab;
  bool json = false;
};

// "drpo:delta=0.2:anchor=recomputed"
audit::LabLoss parse_loss(const std::string& text) {
  audit::LabLoss loss;
  std::size_t begin = text.find(':');
  loss.name = text.substr(0, begin);
  loss.label = loss.name;
  while (begin != std::string::npos) {
    const auto end = text.find(':', begin + 1);
    const std::string part = text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    if (!loss.params.insert(parse_parameter(part)).second) { fail(Exit::usage, fmt::format("--loss {}: '{}' is given twice", text, part)); }
    loss.label += " " + part;
    begin = end;
  }
  rl::make_algorithm(loss.name, loss.params);  // errors now, not after the sampling
  return loss;
}

// Every loss that has complete defaults, SPO, and DRPO with both thresholds that people use.
std::vector<std::string> usual_losses() {
  std::vector<std::string> out;
  for (const std::string& name : audit::comparable_algorithms()) {
    if (rl::find_preset(name) == nullptr) { out.push_back(name); }
  }
  for (const char* name : {"pg_tis", "e1", "spo:epsilon=0.2", "drpo_tv", "drpo_paper"}) { out.emplace_back(name); }
  return out;
}

Exit losslab(const LabArgs& args) {
  if (!(args.lab.drift_lr >= 0)) { fail(Exit::usage, "--drift-lr is not a number", "it lies from 0 to 1; 0: train.lr"); }
  std::vector<audit::LabLoss> losses;
  audit::LabOptions options = args.lab;
  for (const std::string& text : args.losses.empty() ? usual_losses() : args.losses) {
    losses.push_back(parse_loss(text));
    options.topk = std::max(options.topk, rl::make_algorithm(losses.back().name, losses.back().params)->traits().topk);
  }
  std::error_code error;
  const bool folder = std::filesystem::is_directory(args.source, error);
  OpenedModel opened = open_subject({folder ? args.source : "", folder ? "" : args.source, args.sets});
  options.step = opened.step;
  options.made_rewards = !folder && opened.loaded.config.model.checkpoint.empty();  // random weights earn no reward
  const Index vocabulary = opened.tokenizer->vocab_size();
  if (options.topk > vocabulary) { fail(Exit::usage, fmt::format("topk = {} is more than the {} ids of the vocabulary", options.topk, vocabulary), "lower it with --loss NAME:topk=K"); }
  if (!args.out.empty()) { make_directory(args.out, Exit::usage); }  // before the work, not after it
  catch_signals();
  const Exec exec = rl::make_exec(opened.loaded.config.runtime);
  const double bytes = static_cast<double>(opened.model->params().numel()) * 4 * static_cast<double>(losses.size());
  if (bytes > 8e9) { fail(Exit::usage, fmt::format("{} gradients of this model need {:.1f} GB at once", losses.size(), bytes / 1e9), "name fewer losses with --loss"); }
  audit::LabBatch batch = audit::make_lab_batch(std::move(opened.model), *opened.tokenizer, opened.loaded, options, exec);
  const audit::LabReport report = audit::run_losslab(batch, losses, exec);
  std::fputs((args.json ? audit::lab_json(report) : audit::lab_text(report)).c_str(), stdout);
  if (!args.out.empty()) {
    const std::filesystem::path out(args.out);
    write_file_atomic(out / "losslab.json", audit::lab_json(report));
    write_file_atomic(out / "losslab.csv", audit::lab_csv(report, *opened.tokenizer));
    write_file_atomic(out / "losslab.html", audit::lab_html(report, *opened.tokenizer));
    if (!args.json) { std::fputs(fmt::format("\nwritten: {}/losslab.html, losslab.csv, losslab.json\n", args.out).c_str(), stdout); }
  }
  for (const audit::LabResult& r : report.results) {
    for (const auto& [error_of, value] : {std::pair("the backward pass", r.chain_error), std::pair("the loss", r.loss_error)}) {
      if (!std::isnan(value) && value > audit::kLabTolerance) {
        fail(Exit::mismatch, fmt::format("{}: the gradient through {} differs from central differences by {:.3g} (relative; limit {:g})", r.loss.label, error_of, value, audit::kLabTolerance),
             "see docs/losslab.md: a fault of a derivative, or a step across a mask's edge (try another --step)");
      }
    }
  }
  return Exit::ok;
}

}  // namespace

void add_losslab(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("losslab", "freeze one batch and compare losses on it: weights, masks, gradients through the model");
  const auto args = std::make_shared<LabArgs>();
  command->add_option("SOURCE", args->source, "folder of a run or checkpoint, or a config (random weights, rewards made by coin flips)")->required();
  add_set_option(*command, args->sets);
  command->add_option("--loss", args->losses, "NAME or NAME:parameter=value:...; may be repeated; default: every loss")->take_all()->allow_extra_args(false)->type_name("LOSS");
  command->add_option("--prompts", args->lab.prompts, "prompts of the batch")->check(CLI::Range(1, 65536))->capture_default_str();
  command->add_option("--drift", args->lab.drift, "optimizer updates between the weights that sampled and the live ones")->check(CLI::Range(0, 4096))->capture_default_str();
  command->add_option("--drift-lr", args->lab.drift_lr, "their learning rate; 0: train.lr")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  command->add_option("--out", args->out, "folder for losslab.html, losslab.csv and losslab.json")->type_name("DIR");
  command->add_flag("--json", args->json, "print JSON");
  command->callback([&chosen, args] { chosen.run = [args] { return losslab(*args); }; });
}

}  // namespace minirl::cli
