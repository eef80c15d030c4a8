// minirl cli/answer_rows.h -- rows of golds and completions from a JSON lines file.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minirl::cli {

struct AnswerRow {
  std::string where;  // "FILE:LINE"
  std::string id;     // may be empty
  std::string gold, completion;
  std::optional<bool> expect;
};

/// Rows {"gold" or "answer", "completion" or "text", "expect" (optional), "id" (optional)}. Fails
/// with Exit::data and the line on anything else, and on a file without rows.
std::vector<AnswerRow> read_answer_rows(const std::string& file);

/// At most 72 bytes on one line, for tables.
std::string one_line(std::string_view text);

}  // namespace minirl::cli
