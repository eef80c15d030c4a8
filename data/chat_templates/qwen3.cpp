// minirl data/chat_templates/qwen3.cpp -- Qwen3: turns between <|im_start|> and <|im_end|>. The
// thinking of assistant turns before the last question is left out, so a conversation of n turns is
// not the beginning of the one of n + 1 turns (docs/tokenizer.md).
#include "data/chat_template.h"

namespace minirl::data {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";

std::string_view left_strip(std::string_view s) {
  const auto at = s.find_first_not_of('\n');
  return at == std::string_view::npos ? std::string_view() : s.substr(at);
}
std::string_view right_strip(std::string_view s) {
  const auto at = s.find_last_not_of('\n');
  return at == std::string_view::npos ? std::string_view() : s.substr(0, at + 1);
}

bool is_tool_response(std::string_view s) {
  constexpr std::string_view open = "<tool_response>", close = "</tool_response>";
  return s.substr(0, open.size()) == open && s.size() >= close.size() &&
         s.substr(s.size() - close.size()) == close;
}

// Index of the last question of the user, which is not the answer of a tool.
std::size_t last_question(const std::vector<Message>& messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (messages[i].role == "user" && !is_tool_response(messages[i].content)) {
      return i;
    }
  }
  return messages.size() - 1;
}

void add_assistant(Rendered& out, const Message& m, bool after_question, bool last) {
  std::string_view content = m.content;
  std::string_view reasoning;
  if (m.reasoning_content) {
    reasoning = *m.reasoning_content;
  } else if (const auto close = content.find(kClose); close != std::string_view::npos) {
    reasoning = right_strip(content.substr(0, close));
    if (const auto open = reasoning.rfind(kOpen); open != std::string_view::npos) {
      reasoning = reasoning.substr(open + kOpen.size());
    }
    reasoning = left_strip(reasoning);
    content = left_strip(content.substr(content.rfind(kClose) + kClose.size()));
  }
  out.add("<|im_start|>assistant\n");
  if (after_question && (last || !reasoning.empty())) {
    out.add("<think>\n");
    out.add_literal(right_strip(left_strip(reasoning)));
    out.add("\n</think>\n\n");
    content = left_strip(content);
  }
  out.add_literal(content);
  out.add("<|im_end|>\n");
}

Rendered render(const std::vector<Message>& messages, const ChatOptions& options) {
  Rendered out;
  const std::size_t question = last_question(messages);
  if (messages[0].role != "system" && !options.default_system.empty()) {
    out.add("<|im_start|>system\n");
    out.add_literal(options.default_system);
    out.add("<|im_end|>\n");
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& m = messages[i];
    const bool last = i + 1 == messages.size();
    if (m.role == "assistant") {
      add_assistant(out, m, i > question, last);
    } else if (m.role == "tool") {
      if (i == 0 || messages[i - 1].role != "tool") {
        out.add("<|im_start|>user");
      }
      out.add("\n<tool_response>\n");
      out.add_literal(m.content);
      out.add("\n</tool_response>");
      if (last || messages[i + 1].role != "tool") {
        out.add("<|im_end|>\n");
      }
    } else {
      out.add("<|im_start|>" + m.role + "\n");
      out.add_literal(m.content);
      out.add("<|im_end|>\n");
    }
  }
  if (options.generation_prompt) {
    out.add("<|im_start|>assistant\n");
    if (!options.thinking) {
      out.add("<think>\n\n</think>\n\n");
    }
  }
  return out;
}

const bool registered = ChatTemplates::add(
    "qwen3",
    {"Qwen3: turns in <|im_start|> and <|im_end|>, thinking can be switched off", "", render});

}  // namespace
}  // namespace minirl::data
