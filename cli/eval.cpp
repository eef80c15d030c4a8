// minirl eval: avg@k, pass@k and maj@k of a checkpoint on held-out problems.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/config_args.h"
#include "cli/model_args.h"
#include "core/files.h"
#include "core/signals.h"
#include "rl/device.h"
#include "rl/problems.h"
#include "rl/summary.h"
#include "rl/trainer.h"

namespace minirl::cli {
namespace {

struct EvalArgs {
  ModelArgs model;
  std::string out, preset;
  bool greedy = false, json = false, table = false;
  Index samples = 0, top_k = 0, problems = 0;
  double temperature = 0, top_p = 0;
  bool has_top_k = false, has_problems = false;
};

// Without the rows: what fits a terminal.
std::string short_json(const std::string& document) {
  auto doc = nlohmann::ordered_json::parse(document);
  doc.erase("rows");
  return doc.dump(2) + "\n";
}

// How AIME is evaluated in the literature that minirl reproduces: every problem 32 times at T = 0.7
// and top-p = 0.95.
void apply_preset(const std::string& preset, rl::EvalConfig& eval) {
  if (preset == "aime") {
    eval.samples = 32;
    eval.temperature = 0.7;
    eval.top_p = 0.95;
    eval.top_k = 0;
  }
}

void apply_options(const EvalArgs& args, rl::EvalConfig& eval) {
  apply_preset(args.preset, eval);
  eval.samples = args.samples > 0 ? args.samples : eval.samples;
  eval.temperature = args.temperature > 0 ? args.temperature : eval.temperature;
  eval.top_p = args.top_p > 0 ? args.top_p : eval.top_p;
  eval.top_k = args.has_top_k ? args.top_k : eval.top_k;
  eval.prompts = args.has_problems ? args.problems : eval.prompts;
}

std::string settings_text(const rl::EvalResult& r) {
  const SamplerOptions& s = r.sampling;
  return fmt::format("  graded by {}; {}up to {} new tokens, template {}, seed {}{}\n", r.reward,
                     s.greedy
                         ? std::string("greedy, ")
                         : fmt::format("temperature {:g}, top-p {:g}, top-k {}, ", s.temperature,
                                       s.top_p, s.top_k > 0 ? fmt::format("{}", s.top_k) : "off"),
                     s.max_new_tokens, r.chat_template, r.seed,
                     s.filtered() ? "; log-probabilities are those without the filter" : "");
}

// What the summary leaves out: voting, and pass@k for smaller k.
std::string further_estimates(const rl::EvalResult& r) {
  const auto line = [](const std::string& name, const rl::Interval& i) {
    return fmt::format("  {:<22}{:.3f} [{:.3f}, {:.3f}]\n", name, i.value, i.lower, i.upper);
  };
  std::string out = line(fmt::format("maj@{}", r.samples), r.majority);
  for (const auto& [k, value] : r.passes) {
    if (k < r.samples) {
      out += line(fmt::format("pass@{}", k), value);
    }
  }
  return out;
}

Exit evaluate(const EvalArgs& args) {
  OpenedModel opened = open_model(args.model);
  rl::Config& config = opened.loaded.config;
  apply_options(args, config.eval);
  catch_signals();
  tell_device(config);
  const Exec exec = rl::make_device_exec(config);
  opened.model->params().move_to(exec);
  const rl::Problems problems =
      rl::open_problems(config, *opened.tokenizer, opened.model->config().max_positions);
  for (const auto& note : problems.notes) {
    std::fputs(fmt::format("minirl: {}\n", note).c_str(), stderr);
  }
  rl::EvalOptions options = rl::eval_options(config, *opened.tokenizer, *problems.format);
  options.sampling.greedy = args.greedy;
  const auto result = rl::evaluate(*opened.model, *opened.tokenizer, problems.held_out, options,
                                   exec, [] { return caught_signal() != 0; });
  const std::string document = rl::eval_json(result, opened.step);
  if (!args.out.empty()) {
    write_file_atomic(args.out, document);
  }
  if (args.json) {
    std::fputs(short_json(document).c_str(), stdout);
    return Exit::ok;
  }
  const rl::Evaluation shown = rl::parse_evaluation(document, "the evaluation");
  std::fputs(fmt::format("{}\n\n{}{}{}", opened.checkpoint.string(),
                         rl::summary_text({shown}, args.table ? 0 : 3), further_estimates(result),
                         settings_text(result))
                 .c_str(),
             stdout);
  if (args.table) {
    std::fputs(("\n" + rl::eval_table(result)).c_str(), stdout);
  }
  return Exit::ok;
}

}  // namespace

void add_eval(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "eval", "evaluate a checkpoint on held-out problems: avg@k, pass@k, maj@k, intervals");
  const auto args = std::make_shared<EvalArgs>();
  add_model_args(*command, args->model);
  add_problem_args(*command, args->model);
  command
      ->add_option("--preset", args->preset,
                   "aime: 32 samples at temperature 0.7 and top-p 0.95. Options below win over it")
      ->check(CLI::IsMember({"aime"}));
  command
      ->add_option("--samples", args->samples, "completions per problem (k); default: eval.samples")
      ->check(CLI::Range(1, 4096));
  auto* problems = command
                       ->add_option("--problems", args->problems,
                                    "the first so many held-out problems; 0: all of a data file; "
                                    "default: eval.prompts")
                       ->check(CLI::Range(0, 1 << 20));
  command->add_option("--temperature", args->temperature, "T of softmax(logits / T)")
      ->check(CLI::Range(1e-6, 100.0));
  command
      ->add_option("--top-p", args->top_p,
                   "sample from the most likely tokens of this total probability; 1: off")
      ->check(CLI::Range(1e-6, 1.0));
  auto* top_k = command
                    ->add_option("--top-k", args->top_k,
                                 "sample from so many most likely tokens; 0 or -1: off")
                    ->check(CLI::Range(-1, 1 << 24));
  command->add_flag("--greedy", args->greedy, "the most likely token instead of sampling");
  command->add_flag("--table", args->table, "one line a problem");
  command
      ->add_option("--out", args->out, "write every completion and its verdict to this JSON file")
      ->type_name("FILE");
  command->add_flag("--json", args->json, "print the numbers as JSON");
  command->callback([&chosen, args, top_k, problems] {
    args->has_top_k = top_k->count() > 0;
    args->has_problems = problems->count() > 0;
    chosen.run = [args] { return evaluate(*args); };
  });
}

}  // namespace minirl::cli
