#include "cli/model_args.h"

#include <algorithm>
#include <cstdio>

#include "cli/config_args.h"
#include "cli/progress.h"
#include "model/pretrained.h"
#include "rl/checkpoint.h"
#include "rl/problems.h"
#include "rl/run_dir.h"

namespace minirl::cli {

namespace fs = std::filesystem;

void add_model_args(CLI::App& command, ModelArgs& args) {
  command
      .add_option("MODEL", args.model,
                  "folder of a run (its newest checkpoint is taken) or of a checkpoint")
      ->required();
  command
      .add_option("--config", args.config,
                  "configuration; default: that of the run which MODEL belongs to")
      ->type_name("CONFIG");
  add_set_option(command, args.sets);
}

void add_problem_args(CLI::App& command, ModelArgs& args) {
  command
      .add_option("--data", args.data,
                  "problems of this JSONL or parquet file instead of the configuration's")
      ->type_name("FILE");
  command
      .add_option("--template", args.template_,
                  "chat template: auto (the tokenizer's own), plain, qwen2.5 or qwen3")
      ->type_name("NAME");
  command
      .add_option("--max-new-tokens", args.max_new_tokens,
                  "longest completion; default: rollout.max_new_tokens")
      ->check(CLI::Range(1, 1 << 20));
  add_device_option(command, args.device);
}

namespace {

// The options above as settings; what the user sets with --set wins.
std::vector<std::string> settings_of(const ModelArgs& args, bool bare) {
  std::vector<std::string> out;
  if (bare) {  // the folder's config.json decides about the model, not the bundled configuration
    out = {"reward.name=" + std::string(args.data.empty() ? "boxed" : "math"),
           "model.max_positions=16777216"};
  }
  if (bare || !args.data.empty()) {
    out.insert(out.end(),
               {"pretrain.steps=0", "pretrain.warmup_steps=0", "train.tokens_per_micro=16777216"});
  }
  if (!args.data.empty()) {
    const std::string file = to_toml(args.data);
    out.insert(out.end(),
               {"task.name=jsonl", "task.train=" + file, "task.eval=" + file, "eval.prompts=0"});
  }
  const auto key = [](const std::string& s) { return s.substr(0, s.find('=')); };
  std::erase_if(out, [&](const std::string& s) {
    return std::any_of(args.sets.begin(), args.sets.end(),
                       [&](const std::string& own) { return key(own) == key(s); });
  });
  out.insert(out.end(), args.sets.begin(), args.sets.end());
  if (!args.device.empty()) {
    out.push_back("runtime.device=" + to_toml(args.device));
  }
  return out;
}

}  // namespace

OpenedModel open_model(const ModelArgs& args) {
  const fs::path given(args.model);
  std::error_code error;
  if (!fs::is_directory(given, error)) {
    fail(Exit::usage, fmt::format("there is no folder '{}'", args.model),
         "name a run such as runs/qwen3, or a checkpoint below it");
  }
  OpenedModel out;
  fs::path run;
  if (rl::is_run(given)) {
    run = given;
    const rl::Found found = rl::newest_checkpoint(given / "checkpoints");
    for (const auto& why : found.skipped) {
      std::fputs(fmt::format("minirl: warning: skipped {}\n", why).c_str(), stderr);
    }
    if (found.directory.empty()) {
      fail(Exit::usage, fmt::format("the run '{}' has no whole checkpoint", args.model),
           "train it first");
    }
    out.checkpoint = found.directory;
    out.step = found.progress.phase == rl::Phase::train ? found.progress.step : 0;
  } else {
    out.checkpoint = given;
    const fs::path above = fs::weakly_canonical(given).parent_path().parent_path();
    if (rl::is_run(above)) {
      run = above;
    }
    if (fs::exists(given / "progress.json")) {
      const rl::Progress progress = rl::verify_checkpoint(given);
      out.step = progress.phase == rl::Phase::train ? progress.step : 0;
    }
  }
  // A folder that belongs to no run: the bundled defaults, for what is not given.
  const bool bare = args.config.empty() && run.empty();
  if (bare && !fs::exists(out.checkpoint / "config.json", error)) {
    fail(
        Exit::usage,
        fmt::format("'{}' is neither a run nor a folder with a model (no config.json)", args.model),
        "name a run such as runs/qwen3, a checkpoint below it, or a Hugging Face folder");
  }
  std::vector<ConfigSource> sources = {
      bare                  ? find_config("qwen3.toml")
      : args.config.empty() ? ConfigSource::file((run / "config.resolved.toml").string())
                            : find_config(args.config)};
  for (const auto& s : settings_of(args, bare)) {
    sources.push_back(ConfigSource::set(s));
  }
  out.loaded = rl::load_config(sources);
  if (!args.template_.empty()) {
    out.loaded.config.prompt.chat_template = args.template_;
  }
  if (args.max_new_tokens > 0) {
    out.loaded.config.rollout.max_new_tokens = args.max_new_tokens;
  }
  out.tokenizer = fs::exists(out.checkpoint / "tokenizer.json", error)
                      ? data::load_tokenizer(out.checkpoint)
                      : rl::open_tokenizer(out.loaded.config);
  LoadOptions load;
  load.tied_head = tied_head_from_name(out.loaded.config.model.tied_head);
  load.progress = byte_progress("reading the model:");
  out.model = load_pretrained(out.checkpoint, DType::f32, load);
  if (out.model->config().vocab_size < out.tokenizer->vocab_size()) {
    fail(Exit::usage,
         fmt::format("'{}' has {} token ids, the tokenizer {}", out.checkpoint.string(),
                     out.model->config().vocab_size, out.tokenizer->vocab_size()),
         "the tokenizer belongs to another model");
  }
  return out;
}

}  // namespace minirl::cli
