// minirl data/message.h -- one message of a conversation.
#pragma once
#include <optional>
#include <string>

namespace minirl::data {

struct Message {
  std::string role;  // system | user | assistant | tool
  std::string content;
  std::optional<std::string> reasoning_content = {};  // assistant: thinking kept apart
};

}  // namespace minirl::data
