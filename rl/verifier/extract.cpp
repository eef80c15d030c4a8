#include "rl/verifier/extract.h"

#include <algorithm>

#include "rl/rewards/answer.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kIdle = " \t\r\n*";
  const std::size_t first = text.find_first_not_of(kIdle);
  if (first == kNone) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kIdle) - first + 1);
}

std::string_view line_from(std::string_view text, std::size_t at) {
  return text.substr(at, text.find('\n', at) - at);
}

/// Place after the colon of the last "answer:" (in any letter case, or its Chinese word); kNone if
/// there is none.
std::size_t last_answer_line(std::string_view text) {
  static constexpr std::string_view kWord = "answer";
  static constexpr std::string_view kChinese = "\xe7\xad\x94\xe6\xa1\x88";
  static constexpr std::string_view kWideColon = "\xef\xbc\x9a";
  std::size_t found = kNone;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t next = 0;
    if (text.substr(at).starts_with(kChinese)) {
      next = at + kChinese.size();
    } else if (text.size() - at > kWord.size()) {
      bool equal = true;
      for (std::size_t i = 0; i < kWord.size() && equal; ++i) {
        const char c = text[at + i];
        equal = (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) == kWord[i];
      }
      next = equal ? at + kWord.size() : 0;
    }
    if (next == 0) {
      continue;
    }
    while (next < text.size() && (text[next] == ' ' || text[next] == '*' || text[next] == '\t')) {
      ++next;
    }
    if (next < text.size() && text[next] == ':') {
      found = next + 1;
    } else if (text.substr(std::min(next, text.size())).starts_with(kWideColon)) {
      found = next + kWideColon.size();
    }
  }
  return found;
}

/// The line, or, if nothing stands behind the colon, the next line that says something.
std::string_view answer_after(std::string_view text, std::size_t at) {
  for (int lines = 0; lines < 4; ++lines) {
    const std::string_view line = line_from(text, at);
    const std::string_view answer = trimmed(line);
    if (!answer.empty()) {
      return answer;
    }
    at += line.size() + 1;
    if (at >= text.size()) {
      break;
    }
  }
  return {};
}

Extracted boxes(std::string_view text) {
  const Boxes found = last_boxes(text);
  return {found.contents, found.why};
}

Extracted last_number(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) {
    --end;
  }
  if (end == 0) {
    return {{}, "no number"};
  }
  std::size_t begin = end;
  const auto part = [&](char c) { return is_digit(c) || c == '.' || c == ',' || c == '/'; };
  while (begin > 0 && part(text[begin - 1])) {
    --begin;
  }
  while (begin < end && !is_digit(text[begin])) {
    ++begin;
  }
  if (begin > 0 && text[begin - 1] == '.') {
    --begin;
  }
  if (begin > 0 && text[begin - 1] == '-' &&
      (begin == 1 || text[begin - 2] == ' ' || text[begin - 2] == '\n' || text[begin - 2] == '$')) {
    --begin;
  }
  return {{text.substr(begin, end - begin)}, {}};
}

}  // namespace

Extracted extract(std::string_view completion, Extraction how) {
  const auto visible = after_thinking(without_end_tokens(completion));
  if (!visible) {
    return {{}, "the thinking block never closes"};
  }
  const std::string_view text = *visible;
  switch (how) {
    case Extraction::boxed:
      return boxes(text);
    case Extraction::answer_line: {
      const std::size_t at = last_answer_line(text);
      if (at == kNone) {
        return boxes(text);
      }
      const Boxes behind = last_boxes(text.substr(at));
      if (!behind.contents.empty() || behind.why != "no \\boxed{}") {
        return {behind.contents, behind.why};
      }
      const std::string_view line = answer_after(text, at);
      if (line.empty()) {
        return {{}, "the answer line is empty"};
      }
      return {{line}, {}};
    }
    case Extraction::hashes: {
      const std::size_t at = text.rfind("####");
      if (at == kNone) {
        return {{}, "no ####"};
      }
      const std::string_view line = trimmed(line_from(text, at + 4));
      if (line.empty()) {
        return {{}, "nothing after ####"};
      }
      return {{line}, {}};
    }
    case Extraction::last_number:
      return last_number(text);
  }
  return {};
}

}  // namespace minirl::rl::verifier
