#include "data/prompt.h"

#include <array>

namespace minirl::data {
namespace {

// What rewards look for, as prompts spell it.
constexpr std::array<std::string_view, 3> kMarkers = {"\\boxed", "####", "Answer:"};

}  // namespace

bool asks_for(std::string_view text, std::string_view instruction) {
  if (instruction.empty()) {
    return true;
  }
  for (const auto marker : kMarkers) {
    if (instruction.find(marker) != std::string_view::npos) {
      return text.find(marker) != std::string_view::npos;
    }
  }
  return text.find(instruction) != std::string_view::npos;
}

PromptFormat::PromptFormat(const Tokenizer& tokenizer, PromptOptions options)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      chosen_(choose_template(options_.chat_template, tokenizer)) {}

std::vector<Message> PromptFormat::messages(const Example& example) const {
  std::vector<Message> out = example.messages;
  std::size_t last = out.size();
  bool asked = !options_.system.empty() && asks_for(options_.system, options_.instruction);
  for (std::size_t i = 0; i < out.size(); ++i) {
    last = out[i].role == "user" ? i : last;
    asked |= asks_for(out[i].content, options_.instruction);
  }
  if (!asked && !options_.instruction.empty() && last < out.size()) {
    out[last].content += "\n\n" + options_.instruction;
  }
  return out;
}

Rendered PromptFormat::render(const Example& example) const {
  ChatOptions chat;
  chat.thinking = options_.thinking;
  chat.default_system = options_.system.empty() ? chosen_.default_system : options_.system;
  if (!example.messages.empty()) {
    return render_chat(chosen_.name, messages(example), chat);
  }
  if (options_.chat_template == "auto" || options_.chat_template == "plain") {
    Rendered out;
    out.add(example.prompt);
    return out;
  }
  return render_chat(chosen_.name, {{"user", example.prompt, {}}}, chat);
}

std::vector<Token> PromptFormat::encode(const Example& example) const {
  Rendered text;
  try {
    text = render(example);
  } catch (const Error& error) {
    if (error.code() != Exit::data || example.where.empty()) {
      throw;
    }
    fail(Exit::data, fmt::format("{}: {}", example.where, error.what()));
  }
  std::vector<Token> ids = tokenizer_.encode_prompt(text.text, text.literal);
  const bool raw = chosen_.name == "plain" || example.messages.empty();
  const std::vector<Token> prefix = raw ? tokenizer_.prefix() : std::vector<Token>();
  if (!std::equal(prefix.begin(), prefix.end(), ids.begin(),
                  ids.begin() + static_cast<std::ptrdiff_t>(std::min(prefix.size(), ids.size())))) {
    ids.insert(ids.begin(), prefix.begin(), prefix.end());
  }
  return ids;
}

}  // namespace minirl::data
