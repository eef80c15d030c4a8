// minirl rl/html_text.h -- texts of models and files inside HTML: whatever they hold, they stay
// text.
#pragma once
#include <string>
#include <string_view>

namespace minirl::rl {

/// & < > " ' as entities.
std::string html_escape(std::string_view text);

/// HTML of a text that nobody has looked at: escaped, well-formed UTF-8, and every character that
/// would hide or reorder others is spelled out (controls, marks of direction, zero widths). Line
/// ends stay line ends, behind a visible mark unless `mark_ends` is false. Beyond `limit` bytes (0:
/// none) it says how many more there are.
std::string html_visible(std::string_view text, std::size_t limit = 0, bool mark_ends = true);

/// JSON that may stand inside <script type="application/json">: no '<'.
std::string script_json(std::string json);

}  // namespace minirl::rl
