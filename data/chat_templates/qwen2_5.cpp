// minirl data/chat_templates/qwen2_5.cpp -- Qwen2.5: turns between <|im_start|> and <|im_end|>; a
// conversation without a system message gets the published one.
#include "data/chat_template.h"

namespace minirl::data {
namespace {

void add_turn(Rendered& out, std::string_view role, std::string_view content) {
  out.add("<|im_start|>");
  out.add(role);
  out.add("\n");
  out.add_literal(content);
  out.add("<|im_end|>\n");
}

Rendered render(const std::vector<Message>& messages, const ChatOptions& options) {
  Rendered out;
  if (messages[0].role != "system" && !options.default_system.empty()) {
    add_turn(out, "system", options.default_system);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& m = messages[i];
    if (m.role != "tool") {
      add_turn(out, m.role, m.content);
      continue;
    }
    if (i == 0 || messages[i - 1].role != "tool") {
      out.add("<|im_start|>user");
    }
    out.add("\n<tool_response>\n");
    out.add_literal(m.content);
    out.add("\n</tool_response>");
    if (i + 1 == messages.size() || messages[i + 1].role != "tool") {
      out.add("<|im_end|>\n");
    }
  }
  if (options.generation_prompt) {
    out.add("<|im_start|>assistant\n");
  }
  return out;
}

const bool registered = ChatTemplates::add(
    "qwen2.5", {"Qwen2.5: turns in <|im_start|> and <|im_end|>, with a default system message",
                "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", render});

}  // namespace
}  // namespace minirl::data
