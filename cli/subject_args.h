// minirl cli/subject_args.h -- what a proof is about: a trained model with its configuration, or
// the model that a configuration starts from.
#pragma once
#include <string>
#include <vector>

#include "cli/model_args.h"

namespace minirl::cli {

struct SubjectArgs {
  std::string model;   // folder of a run, a checkpoint or a model; empty: initial weights
  std::string config;  // empty: that of the run, or qwen3.toml
  std::vector<std::string> sets;
};

void add_subject_args(CLI::App& command, SubjectArgs& args);
/// Throws Exit::usage as open_model and load_config do.
OpenedModel open_subject(const SubjectArgs& args);
/// "the initial weights of qwen3.toml" or the folder.
std::string subject_words(const SubjectArgs& args, const OpenedModel& opened);

}  // namespace minirl::cli
