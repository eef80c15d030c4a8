// minirl data/prompt.h -- from a problem to the token ids that the policy continues.
#pragma once
#include <string>
#include <vector>

#include "data/chat_template.h"
#include "data/example.h"
#include "data/tokenizer.h"

namespace minirl::data {

struct PromptOptions {
  std::string chat_template = "auto";  // auto, or a built-in
  bool thinking = true;                // qwen3
  std::string system = {};             // replaces the template's own default; empty: that default
  std::string instruction = {};        // put behind a problem that does not ask for it yet
};

/// Does `text` ask for an answer in the form that `instruction` does: a box, an "Answer:" line,
/// "####"? With an empty instruction always.
bool asks_for(std::string_view text, std::string_view instruction);

/// Renders and encodes prompts. Problems that are made up (no messages) are taken as they are;
/// those of files get the instruction and the chat template. Safe to use from several threads.
class PromptFormat {
 public:
  /// Throws Exit::usage for a template that is not known (choose_template).
  PromptFormat(const Tokenizer& tokenizer, PromptOptions options);

  Rendered render(const Example& example) const;
  /// Throws Exit::data, with the problem's place, when it cannot be rendered.
  std::vector<Token> encode(const Example& example) const;
  /// The conversation with the instruction in it.
  std::vector<Message> messages(const Example& example) const;

  const std::string& template_name() const { return chosen_.name; }
  const PromptOptions& options() const { return options_; }

 private:
  const Tokenizer& tokenizer_;
  PromptOptions options_;
  ChosenTemplate chosen_;
};

}  // namespace minirl::data
