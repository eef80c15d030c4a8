#include "cli/model_args.h"

#include <cstdio>

#include "cli/config_args.h"
#include "cli/progress.h"
#include "model/pretrained.h"
#include "rl/checkpoint.h"
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
  command
      .add_option("--set", args.sets, "override one key: --set table.key=value; may be repeated")
      ->take_all()
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

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
  if (args.config.empty() && run.empty()) {
    fail(
        Exit::usage,
        fmt::format("'{}' does not belong to a run, so its configuration is not known", args.model),
        "add --config CONFIG");
  }
  std::vector<ConfigSource> sources = {
      args.config.empty() ? ConfigSource::file((run / "config.resolved.toml").string())
                          : find_config(args.config)};
  for (const auto& s : args.sets) {
    sources.push_back(ConfigSource::set(s));
  }
  out.loaded = rl::load_config(sources);
  out.tokenizer = data::byte_tokenizer();
  LoadOptions load;
  load.tied_head = tied_head_from_name(out.loaded.config.model.tied_head);
  load.progress = byte_progress("reading the model:");
  out.model = load_pretrained(out.checkpoint, DType::f32, load);
  if (out.model->config().vocab_size < out.tokenizer->vocab_size()) {
    fail(Exit::usage,
         fmt::format("'{}' has {} token ids, the tokenizer {}", out.checkpoint.string(),
                     out.model->config().vocab_size, out.tokenizer->vocab_size()),
         "only checkpoints with the built-in byte tokenizer can be used");
  }
  return out;
}

}  // namespace minirl::cli
