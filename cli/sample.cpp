// minirl sample: what a checkpoint says to a prompt.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/config_args.h"
#include "cli/model_args.h"
#include "core/signals.h"
#include "data/task.h"
#include "rl/device.h"
#include "rl/rollout.h"
#include "rl/summary.h"
#include "rl/trainer.h"

namespace minirl::cli {
namespace {

struct SampleArgs {
  ModelArgs model;
  std::string prompt;
  Index count = 4, problems = 3, seed = 1, top_k = 0;
  double temperature = 1.0, top_p = 1.0;
  bool greedy = false, json = false, has_prompt = false;
};

// "\n", "\t" and "\\" as in C, so that a shell can write them.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '\\' && (next == 'n' || next == 't' || next == '\\')) {
      out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

Exit sample(const SampleArgs& args) {
  OpenedModel opened = open_model(args.model);
  const rl::Config& config = opened.loaded.config;
  catch_signals();
  tell_device(config);
  const Exec exec = rl::make_device_exec(config);
  opened.model->params().move_to(exec);
  std::vector<data::Example> examples;
  rl::Problems problems;
  if (args.has_prompt) {
    examples.push_back({0, unescaped(args.prompt), ""});
    if (!args.model.template_.empty() && args.model.template_ != "plain") {
      examples[0].messages = {{"user", examples[0].prompt, {}}};
    }
    if (examples[0].prompt.empty()) {
      fail(Exit::usage, "the prompt is empty", "give it at least one character");
    }
  } else {
    problems = rl::open_problems(config, *opened.tokenizer, opened.model->config().max_positions);
    const auto& all = problems.held_out;
    examples.assign(all.begin(),
                    all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), args.problems));
  }
  // A prompt of the command line asks for what it asks for.
  const data::PromptFormat own(
      *opened.tokenizer,
      {config.prompt.chat_template, config.prompt.thinking, config.prompt.system, ""});
  const data::PromptFormat& format = args.has_prompt ? own : *problems.format;
  rl::GenerateOptions options{
      rl::sampler_options(config, *opened.tokenizer, args.temperature), args.count,
      rng::Key::of(static_cast<std::uint64_t>(args.seed), rng::Stream::sample)};
  options.sampling.greedy = args.greedy;
  options.sampling.top_k = std::max<Index>(args.top_k, 0);
  options.sampling.top_p = args.top_p;
  options.format = &format;
  for (const auto& e : examples) {
    const Index positions =
        static_cast<Index>(format.encode(e).size()) + options.sampling.max_new_tokens;
    if (positions > opened.model->config().max_positions) {
      fail(Exit::usage,
           fmt::format("prompt and new tokens need {} positions, the model has {}", positions,
                       opened.model->config().max_positions),
           "shorten the prompt or lower --max-new-tokens");
    }
  }
  auto groups = rl::generate_groups(*opened.model, *opened.tokenizer, examples, options, exec,
                                    nullptr, [] { return caught_signal() != 0; });
  if (!args.has_prompt) {
    rl::score_groups(groups, rl::reward_options(config), exec.threads);
  }
  auto doc = nlohmann::ordered_json::array();
  for (const auto& g : groups) {
    if (!args.json) {
      std::fputs(fmt::format("{}{}\n", rl::visible(g.example.prompt),
                             args.has_prompt ? "" : "   gold: " + g.example.answer)
                     .c_str(),
                 stdout);
    }
    for (const auto& r : g.rollouts) {
      if (args.json) {
        nlohmann::ordered_json row = {{"prompt", g.example.prompt},
                                      {"text", r.text},
                                      {"ids", r.ids},
                                      {"logp", r.logp},
                                      {"filtered", options.sampling.filtered()},
                                      {"stopped", r.stopped}};
        if (!args.has_prompt) {
          row["answer"] = g.example.answer, row["reward"] = r.reward;
        }
        doc.push_back(row);
        continue;
      }
      const char* verdict = args.has_prompt ? "" : r.reward >= 1 ? "right  " : "wrong  ";
      std::fputs(
          fmt::format("  {}{}{}\n", verdict, rl::visible(r.text), r.stopped ? "" : " [cut off]")
              .c_str(),
          stdout);
    }
  }
  if (args.json) {
    std::fputs(
        (doc.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n").c_str(),
        stdout);
  }
  return Exit::ok;
}

}  // namespace

void add_sample(CLI::App& app, Chosen& chosen) {
  auto* command =
      app.add_subcommand("sample", "sample completions of a prompt, or of held-out problems");
  const auto args = std::make_shared<SampleArgs>();
  add_model_args(*command, args->model);
  auto* prompt =
      command
          ->add_option(
              "--prompt", args->prompt,
              "the prompt; \\n, \\t and \\\\ are understood. Without it: held-out problems")
          ->type_name("TEXT");
  command->add_option("-n,--count", args->count, "completions per prompt")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--problems", args->problems, "how many held-out problems")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  add_problem_args(*command, args->model);
  command->add_option("--temperature", args->temperature, "T of softmax(logits / T)")
      ->check(CLI::Range(1e-6, 100.0))
      ->capture_default_str();
  command
      ->add_option("--top-p", args->top_p,
                   "sample from the most likely tokens of this total probability")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  command
      ->add_option("--top-k", args->top_k, "sample from so many most likely tokens; 0 or -1: off")
      ->check(CLI::Range(-1, 1 << 24))
      ->capture_default_str();
  command->add_option("--seed", args->seed, "seed of the sampling")->check(check_seed)
      ->capture_default_str();
  command->add_flag("--greedy", args->greedy, "the most likely token instead of sampling");
  command->add_flag("--json", args->json, "for programs: texts, ids, log-probabilities");
  command->callback([&chosen, args, prompt] {
    args->has_prompt = prompt->count() > 0;
    chosen.run = [args] { return sample(*args); };
  });
}

}  // namespace minirl::cli
