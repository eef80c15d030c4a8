// minirl cli/model_args.h -- which trained model a command means: the newest checkpoint of a run,
// one checkpoint, or any Hugging Face folder.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "data/tokenizer.h"
#include "model/decoder.h"
#include "rl/config.h"

namespace minirl::cli {

struct ModelArgs {
  std::string model;   // folder
  std::string config;  // empty: that of the run which the folder belongs to
  std::vector<std::string> sets;
  std::string data = {};       // problems of a file instead of those of the configuration
  std::string template_ = {};  // chat template; empty: that of the configuration
  Index max_new_tokens = 0;    // 0: that of the configuration
  std::string device = {};     // empty: that of the configuration
};

void add_model_args(CLI::App& command, ModelArgs& args);
/// --data, --template, --max-new-tokens and --device, for commands that sample.
void add_problem_args(CLI::App& command, ModelArgs& args);

struct OpenedModel {
  rl::LoadedConfig loaded;
  std::filesystem::path checkpoint;
  Index step = 0;  // train step of the checkpoint; 0 where unknown
  std::unique_ptr<data::Tokenizer> tokenizer;
  std::unique_ptr<Decoder> model;
};
/// Throws Exit::usage: no such folder, no whole checkpoint in it, no configuration known.
OpenedModel open_model(const ModelArgs& args);

}  // namespace minirl::cli
