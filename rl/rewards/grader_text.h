// minirl rl/rewards/grader_text.h -- string helpers shared by the named graders. Linear in the
// text.
#pragma once
#include <string>
#include <string_view>

namespace minirl::rl {

inline void replace_every(std::string& text, std::string_view from, std::string_view to) {
  std::size_t hit = text.find(from);
  if (hit == std::string::npos) {
    return;
  }
  std::string out;
  std::size_t at = 0;
  for (; hit != std::string::npos; hit = text.find(from, at)) {
    out.append(text, at, hit - at).append(to);
    at = hit + from.size();
  }
  text = out.append(text, at);
}

inline std::string_view strip_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

/// End (one past the '}') of the group whose '{' is the first at or after `from`; npos if it never
/// closes. Counts every brace, escaped ones too, as these graders do.
inline std::size_t group_end(std::string_view text, std::size_t from, std::size_t& open) {
  open = text.find('{', from);
  if (open == std::string_view::npos) {
    return std::string_view::npos;
  }
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') {
      ++depth;
    }
    if (text[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace minirl::rl
