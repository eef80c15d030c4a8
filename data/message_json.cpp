#include "data/message_json.h"

namespace minirl::data {

std::vector<Message> read_messages(const nlohmann::json& list, const std::string& where) {
  const auto bad = [&](const std::string& what) {
    fail(Exit::data, fmt::format("{}: {}", where, what),
         "a conversation is a list of {\"role\": text, \"content\": text}");
  };
  if (!list.is_array() || list.empty()) {
    bad("the messages are not a list with at least one entry");
  }
  std::vector<Message> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const nlohmann::json& m = list[i];
    if (!m.is_object() || !m.contains("role") || !m.at("role").is_string() ||
        !m.contains("content") || !m.at("content").is_string()) {
      bad(fmt::format("message {} has no texts \"role\" and \"content\"", i));
    }
    Message message{m.at("role").get<std::string>(), m.at("content").get<std::string>(), {}};
    for (const auto& [key, value] : m.items()) {
      if (key == "role" || key == "content" || value.is_null()) {
        continue;
      }
      if (key != "reasoning_content" || !value.is_string()) {
        bad(fmt::format("message {} has a \"{}\", which the built-in templates cannot show", i,
                        key));
      }
      message.reasoning_content = value.get<std::string>();
    }
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace minirl::data
