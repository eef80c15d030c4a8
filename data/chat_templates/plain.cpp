// minirl data/chat_templates/plain.cpp -- no template: the text of the one user message as it is,
// for base models and for data sets whose prompts are rendered already. Names of control tokens in
// it are control tokens.
#include "data/chat_template.h"

namespace minirl::data {
namespace {

Rendered render(const std::vector<Message>& messages, const ChatOptions& options) {
  if (messages.size() != 1 || messages[0].role != "user") {
    fail(Exit::data,
         fmt::format("the template plain writes one user message, not {} messages that begin with "
                     "\"{}\"",
                     messages.size(), messages[0].role),
         "choose a chat template, e.g. --set prompt.template=qwen3");
  }
  Rendered out;
  if (!options.default_system.empty()) {
    out.add(options.default_system + "\n\n");
  }
  out.add(messages[0].content);
  return out;
}

const bool registered =
    ChatTemplates::add("plain", {"no template: the prompt's text as it is", "", render});

}  // namespace
}  // namespace minirl::data
