// minirl data/message_json.h -- conversations as JSON writes them.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/chat_template.h"

namespace minirl::data {

/// A list of {"role", "content"}, an assistant's also with "reasoning_content". Throws Exit::data
/// ("where: ...") for anything else: a list of content parts or tool calls cannot be rendered.
std::vector<Message> read_messages(const nlohmann::json& list, const std::string& where);

}  // namespace minirl::data
