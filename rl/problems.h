// minirl rl/problems.h -- from a configuration to problems that can be trained and evaluated on:
// the tokenizer, the form of prompts, and problems whose gold answers the reward can read and whose
// prompts fit into the model.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data/prompt.h"
#include "data/task.h"
#include "data/tokenizer.h"
#include "rl/config.h"

namespace minirl::rl {

/// model.tokenizer; where that is empty, the tokenizer of the folder model.checkpoint; where there is
/// no such folder, the built-in bytes.
std::unique_ptr<data::Tokenizer> open_tokenizer(const Config& config);

/// What the prompts of data files are to ask for: prompt.instruction, where "auto" is the
/// instruction of the configured reward, so that prompt and parser agree.
std::string instruction_of(const Config& config);

struct Problems {
  std::unique_ptr<data::Task> task;
  std::unique_ptr<data::PromptFormat> format;
  std::vector<data::Example> held_out;  // eval.prompts of them
  std::vector<std::string> notes;       // what was read, left out and decided; for tasks of files
};

/// `max_positions` of the model. Throws Exit::data for a gold answer that the reward cannot read
/// and for a prompt of more than prompt.max_tokens tokens, unless the configuration says to skip or
/// drop them: then they are counted in the notes.
/// `task` in place of the configured one: its problems are taken as they are, none is held out.
Problems open_problems(const Config& config, const data::Tokenizer& tokenizer, Index max_positions,
                       std::unique_ptr<data::Task> task = {});

}  // namespace minirl::rl
