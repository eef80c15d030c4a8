// minirl data/chat_template.h -- a conversation as the text that a model was trained to see.
// Built-in templates by name; each registers itself from its own file in data/chat_templates/.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "data/message.h"
#include "data/tokenizer.h"

namespace minirl::data {

/// A rendered text and where it holds what a data set or a user wrote: there, names of control
/// tokens are ordinary text.
struct Rendered {
  std::string text;
  std::vector<TextSpan> literal;

  void add(std::string_view markup) { text += markup; }
  void add_literal(std::string_view content) {
    if (!content.empty()) {
      literal.push_back({text.size(), text.size() + content.size()});
      text += content;
    }
  }
};

struct ChatOptions {
  bool thinking = true;             // qwen3: false asks for an answer without thinking
  bool generation_prompt = true;    // ends with the beginning of the assistant's turn
  std::string default_system = {};  // used where the conversation has no system message
};

struct ChatTemplateInfo {
  std::string doc;
  std::string default_system;  // of the published template
  /// `messages` is not empty and has only known roles.
  Rendered (*render)(const std::vector<Message>& messages, const ChatOptions& options) = nullptr;
};
using ChatTemplates = Registry<ChatTemplateInfo>;

/// Renders by name. Throws Exit::data: no message, an unknown role (a published template would
/// leave the message out without a word).
Rendered render_chat(const std::string& name, const std::vector<Message>& messages,
                     const ChatOptions& options);

/// Which built-in a tokenizer's own template is, and the system message that it inserts.
struct ChosenTemplate {
  std::string name;
  std::string default_system;
};
/// `wanted`: a name, or "auto": the tokenizer's template if it is one of the published texts of a
/// built-in, plain if it has none. Throws Exit::usage for any other template: it names the choices.
ChosenTemplate choose_template(const std::string& wanted, const Tokenizer& tokenizer);

}  // namespace minirl::data
