// minirl eval: avg@k and pass@k of a checkpoint on held-out problems.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model_args.h"
#include "core/files.h"
#include "core/signals.h"
#include "data/task.h"
#include "rl/summary.h"
#include "rl/trainer.h"

namespace minirl::cli {
namespace {

struct EvalArgs {
  ModelArgs model;
  std::string out;
  bool greedy = false, json = false;
};

// Without the rows: what fits a terminal.
std::string short_json(const std::string& document) {
  auto doc = nlohmann::ordered_json::parse(document);
  doc.erase("rows");
  return doc.dump(2) + "\n";
}

Exit evaluate(const EvalArgs& args) {
  OpenedModel opened = open_model(args.model);
  const rl::Config& config = opened.loaded.config;
  catch_signals();
  const Exec exec = rl::make_exec(config.runtime);
  const auto problems =
      data::make_task(config.task.name, config.task.params)->eval_examples(config.eval.prompts);
  rl::EvalOptions options{config.eval.samples,
                          rl::sampler_options(config, *opened.tokenizer, config.eval.temperature),
                          static_cast<std::uint64_t>(config.run.seed), rl::reward_options(config)};
  options.sampling.greedy = args.greedy;
  const auto result = rl::evaluate(*opened.model, *opened.tokenizer, problems, options, exec,
                                   [] { return caught_signal() != 0; });
  const std::string document = rl::eval_json(result, opened.step);
  if (!args.out.empty()) {
    write_file_atomic(args.out, document);
  }
  if (args.json) {
    std::fputs(short_json(document).c_str(), stdout);
    return Exit::ok;
  }
  const rl::Evaluation shown = rl::parse_evaluation(document, "the evaluation");
  std::fputs(fmt::format("{}{}\n\n{}", opened.checkpoint.string(), args.greedy ? " (greedy)" : "",
                         rl::summary_text({shown}, 3))
                 .c_str(),
             stdout);
  return Exit::ok;
}

}  // namespace

void add_eval(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "eval", "evaluate a checkpoint on the held-out problems: avg@k, pass@k, intervals");
  const auto args = std::make_shared<EvalArgs>();
  add_model_args(*command, args->model);
  command->add_flag("--greedy", args->greedy, "the most likely token instead of sampling");
  command
      ->add_option("--out", args->out, "write every completion and its verdict to this JSON file")
      ->type_name("FILE");
  command->add_flag("--json", args->json, "print the numbers as JSON");
  command->callback([&chosen, args] { chosen.run = [args] { return evaluate(*args); }; });
}

}  // namespace minirl::cli
