// minirl verify parity: sampled log-probabilities against every other way of computing them.
#include <cstdio>

#include "audit/parity.h"
#include "cli/subject_args.h"
#include "cli/verify.h"
#include "core/signals.h"
#include "rl/problems.h"
#include "rl/trainer.h"

namespace minirl::cli {
namespace {

struct Args {
  SubjectArgs subject;
  Index tokens = 500'000;
  bool json = false;
};

// About how many ways a token is computed again (audit/parity.cpp).
constexpr Index kWays = 24;

Exit verify_parity(const Args& args) {
  OpenedModel opened = open_subject(args.subject);
  const rl::Config& config = opened.loaded.config;
  catch_signals();
  const Exec exec = rl::make_exec(config.runtime);
  const rl::Problems problems =
      rl::open_problems(config, *opened.tokenizer, opened.model->config().max_positions);
  const auto seed = static_cast<std::uint64_t>(config.run.seed);

  audit::ParityOptions options;
  options.tokens = args.tokens;
  options.seed = seed;
  options.sampling = rl::sampler_options(config, *opened.tokenizer, config.rollout.temperature);
  options.group_size = config.rollout.group_size;
  options.tokens_per_micro = config.train.tokens_per_micro;
  // Rounds small enough that the last one is not mostly too much, large enough for real batches.
  options.prompts = std::clamp<Index>(
      args.tokens / (kWays * options.group_size * config.rollout.max_new_tokens), 1, 32);
  const auto prompts = [&](Index round, Index count) {
    std::vector<std::vector<Token>> out;
    for (Index i = 0; i < count; ++i) {
      const data::Example example = problems.task->train_example(seed, round * count + i);
      out.push_back(problems.format != nullptr
                        ? problems.format->encode(example)
                        : opened.tokenizer->encode(example.prompt, data::Specials::parse));
      if (out.back().empty()) {
        fail(Exit::data, fmt::format("the prompt of example {} is empty", example.id));
      }
    }
    return out;
  };
  const auto note = [&](const audit::ParityReport& report) {
    std::fputs(fmt::format("minirl: round {}: {} comparisons, {} differ, {:.1f} s\n", report.rounds,
                           report.compared(), report.differing(), report.seconds)
                   .c_str(),
               stderr);
  };
  const audit::ParityReport report =
      audit::check_parity(*opened.model, *opened.model, prompts, options, exec, note,
                          [] { return caught_signal() != 0; });
  if (args.json) {
    std::fputs(audit::parity_json(report).c_str(), stdout);
  } else {
    std::fputs(
        fmt::format("{}\n{}", subject_words(args.subject, opened), audit::parity_text(report))
            .c_str(),
        stdout);
  }
  return report.differing() == 0 ? Exit::ok : Exit::mismatch;
}

void add(CLI::App& verify, Chosen& chosen) {
  const auto args = std::make_shared<Args>();
  auto* command = verify.add_subcommand(
      "parity",
      "sample, then compute every log-probability again in every way that must not matter");
  add_subject_args(*command, args->subject);
  command->add_option("--tokens", args->tokens, "compare at least so many log-probabilities")
      ->check(CLI::Range(Index{1}, Index{1} << 40))
      ->capture_default_str();
  command->add_flag("--json", args->json, "one JSON document");
  command->callback([&chosen, args] { chosen.run = [args] { return verify_parity(*args); }; });
}

const bool registered = VerifyCommands::add("parity", {&add});

}  // namespace
}  // namespace minirl::cli
