#include "data/chat_template.h"

#include <array>

#include "core/hash.h"

namespace minirl::data {
namespace {

// The published templates, by the SHA-256 of their exact text.
struct Published {
  std::string_view sha256, name, system;
};
constexpr std::string_view kQwenSystem =
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
constexpr std::array<Published, 4> kPublished = {{
    {"87a2728cb8dc9fe424d624542f6060ec05a1d285ebbec578bb078900e33396b5", "qwen3", ""},
    // the later one, which also takes contents that are not texts
    {"a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8", "qwen3", ""},
    {"cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f", "qwen2.5", kQwenSystem},
    // base models
    {"44d5f08f3f72b837eaad09f13a54c1f9f4eb58d75240334548b7fd52a5437fa5", "qwen2.5",
     "You are a helpful assistant."},
}};

}  // namespace

Rendered render_chat(const std::string& name, const std::vector<Message>& messages,
                     const ChatOptions& options) {
  const ChatTemplateInfo& info = ChatTemplates::find("chat template", name);
  if (messages.empty()) {
    fail(Exit::data, "a prompt without a message");
  }
  for (const Message& m : messages) {
    if (m.role != "system" && m.role != "user" && m.role != "assistant" && m.role != "tool") {
      fail(Exit::data, fmt::format("a message of the role \"{}\"", m.role),
           "known roles: system, user, assistant, tool");
    }
  }
  return info.render(messages, options);
}

ChosenTemplate choose_template(const std::string& wanted, const Tokenizer& tokenizer) {
  const std::string& own = tokenizer.chat_template();
  const Published* published = nullptr;
  if (!own.empty()) {
    const std::string sha256 = sha256_hex(own);
    for (const auto& p : kPublished) {
      if (p.sha256 == sha256) {
        published = &p;
      }
    }
  }
  if (wanted != "auto") {
    const ChatTemplateInfo& info = ChatTemplates::find("chat template", wanted);
    return {wanted, published != nullptr && published->name == wanted
                        ? std::string(published->system)
                        : info.default_system};
  }
  if (own.empty()) {
    return {"plain", ""};
  }
  if (published == nullptr) {
    std::string names;
    for (const auto& n : ChatTemplates::names()) {
      names += (names.empty() ? "" : ", ") + n;
    }
    fail(Exit::usage,
         fmt::format("the chat template of the tokenizer (\"{}...\", sha256 {}) is not one of the "
                     "built-in ones, and minirl does not run templates",
                     own.substr(0, own.find_first_of("\n") < 60 ? own.find('\n') : 60),
                     sha256_hex(own).substr(0, 16)),
         fmt::format("choose one that it is equal to for your prompts: --set "
                     "prompt.template=NAME, with NAME one of {}",
                     names));
  }
  return {std::string(published->name), std::string(published->system)};
}

}  // namespace minirl::data
