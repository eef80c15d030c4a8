// minirl gradcheck: the gradient of the user's model, batch and loss against differences, in fp64.
#include <cstdio>

#include "audit/gradcheck_model.h"
#include "cli/commands.h"
#include "cli/subject_args.h"
#include "core/signals.h"
#include "rl/algorithm_registry.h"
#include "rl/loss_config.h"
#include "rl/memory_plan.h"
#include "rl/trainer.h"

namespace minirl::cli {
namespace {

struct Args {
  SubjectArgs subject;
  audit::GradOptions check;
  Index prompts = 1, completions = 4, tokens = 8;
  Index drift = 3;
  bool json = false;
};

// Does any completion have an advantage? Without one every gradient is 0 and nothing is checked.
bool any_advantage(const audit::LabBatch& batch) {
  for (const rl::TrainItem& item : batch.items) {
    if (item.rollout->advantage != 0) {
      return true;
    }
  }
  return false;
}

// The f32 model with its drift (weights, gradients, two moments), and weights and gradients in
// fp64.
void require_room(const Decoder& model) {
  const Index needed = model.params().numel() * (4 * 4 + 2 * 8);
  const Index available = rl::available_memory();
  if (available > 0 && needed > available) {
    fail(Exit::out_of_memory,
         fmt::format("the check needs about {}, there are {}", rl::binary_bytes(needed),
                     rl::binary_bytes(available)),
         "check a smaller model of the same family: --config with model.num_layers, hidden_size");
  }
}

// Where all completions earned the same, rewards are coin flips, and where those agree too, the
// next seed's.
constexpr std::int64_t kSeeds = 8;

Exit gradcheck(const Args& args) {
  catch_signals();
  for (std::int64_t attempt = 0; attempt < kSeeds; ++attempt) {
    OpenedModel opened = open_subject(args.subject);
    require_room(*opened.model);
    rl::Config& config = opened.loaded.config;
    // A small batch: a difference costs a forward pass in fp64.
    config.rollout.group_size = std::min(config.rollout.group_size, args.completions);
    config.rollout.max_new_tokens = std::min(config.rollout.max_new_tokens, args.tokens);
    config.run.seed += attempt;
    for (const auto& c : rl::loss_conflicts(
             *rl::make_algorithm(config.algorithm.name, config.algorithm.params), config)) {
      fail(Exit::usage, c.message, c.hint);
    }
    const Exec exec = rl::make_exec(config.runtime);
    audit::LabOptions lab;
    lab.prompts = args.prompts;
    lab.step = opened.step;
    lab.drift = args.drift;
    lab.made_rewards =
        attempt > 0 || (args.subject.model.empty() && config.model.checkpoint.empty());
    audit::LabBatch batch =
        audit::make_lab_batch(std::move(opened.model), *opened.tokenizer, opened.loaded, lab, exec);
    if (!any_advantage(batch)) {
      continue;
    }
    const audit::GradReport report = audit::check_gradients(batch, opened.loaded, args.check, exec,
                                                            [] { return caught_signal() != 0; });
    std::fputs((args.json ? audit::gradcheck_json(report) : audit::gradcheck_text(report)).c_str(),
               stdout);
    return report.passed() ? Exit::ok : Exit::mismatch;
  }
  fail(Exit::usage, "every advantage of the batch is 0, so every gradient is 0",
       "take more completions with --completions");
}

}  // namespace

void add_gradcheck(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "gradcheck",
      "gradients of ops, parameters and loss against fp64 differences, on your model and batch");
  const auto args = std::make_shared<Args>();
  add_subject_args(*command, args->subject);
  command
      ->add_option("--coordinates", args->check.coordinates,
                   "derivatives of each parameter tensor: a random direction, the largest "
                   "gradient, then random weights")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--prompts", args->prompts, "prompts of the batch")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--completions", args->completions,
                   "completions of a prompt; at most rollout.group_size")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--max-new-tokens", args->tokens,
                   "longest completion; at most rollout.max_new_tokens")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--drift", args->drift,
                   "optimizer updates between the weights that sampled and the checked ones")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_flag("--json", args->json, "one JSON document");
  command->callback([&chosen, args] { chosen.run = [args] { return gradcheck(*args); }; });
}

}  // namespace minirl::cli
