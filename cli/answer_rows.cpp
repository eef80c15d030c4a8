#include "cli/answer_rows.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"

namespace minirl::cli {
namespace {

std::string text_of(const nlohmann::json& row, std::initializer_list<const char*> keys,
                    const std::string& where) {
  std::string list;
  for (const char* key : keys) {
    if (row.contains(key) && row.at(key).is_string()) {
      return row.at(key).get<std::string>();
    }
    list += (list.empty() ? "" : " or ") + std::string(key);
  }
  fail(Exit::data, fmt::format("{}: no text under {}", where, list),
       "a row is {\"gold\": \"...\", \"completion\": \"...\"}");
}

}  // namespace

std::vector<AnswerRow> read_answer_rows(const std::string& file) {
  const std::string text = read_file(file);
  std::vector<AnswerRow> rows;
  Index line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row_text(text.data() + at, end - at);
    at = end + 1;
    ++line;
    if (row_text.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    AnswerRow row;
    row.where = fmt::format("{}:{}", file, line);
    const auto json = nlohmann::json::parse(row_text, nullptr, false);
    if (!json.is_object()) {
      fail(Exit::data, row.where + ": not a JSON object", "one JSON object a line");
    }
    row.gold = text_of(json, {"gold", "answer"}, row.where);
    row.completion = text_of(json, {"completion", "text"}, row.where);
    if (json.contains("id") && json.at("id").is_string()) {
      row.id = json.at("id").get<std::string>();
    }
    if (json.contains("expect") && json.at("expect").is_boolean()) {
      row.expect = json.at("expect").get<bool>();
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    fail(Exit::data, fmt::format("{}: no rows", file), "one JSON object a line");
  }
  return rows;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 72)) {
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return text.size() > 72 ? out + "..." : out;
}

}  // namespace minirl::cli
