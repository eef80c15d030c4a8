#include "cli/subject_args.h"

#include "cli/config_args.h"
#include "rl/problems.h"
#include "rl/trainer.h"

namespace minirl::cli {

void add_subject_args(CLI::App& command, SubjectArgs& args) {
  command
      .add_option("--model", args.model,
                  "folder of a run, of a checkpoint or of a Hugging Face model; default: the "
                  "weights that the configuration starts from")
      ->type_name("DIR");
  command
      .add_option("--config", args.config,
                  "configuration; default: that of the run, else qwen3.toml")
      ->type_name("CONFIG");
  add_set_option(command, args.sets);
}

OpenedModel open_subject(const SubjectArgs& args) {
  if (!args.model.empty()) {
    return open_model({args.model, args.config, args.sets});
  }
  ConfigArgs config;
  config.config = args.config.empty() ? "qwen3.toml" : args.config;
  config.sets = args.sets;
  OpenedModel opened;
  opened.loaded = load(config).loaded;
  opened.tokenizer = rl::open_tokenizer(opened.loaded.config);
  opened.model = rl::initial_model(opened.loaded.config, *opened.tokenizer);
  return opened;
}

std::string subject_words(const SubjectArgs& args, const OpenedModel& opened) {
  return args.model.empty() ? fmt::format("the initial weights of {}",
                                          args.config.empty() ? "qwen3.toml" : args.config)
                            : opened.checkpoint.string();
}

}  // namespace minirl::cli
