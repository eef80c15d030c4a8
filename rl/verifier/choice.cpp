#include "rl/verifier/choice.h"

#include <string>

namespace minirl::rl::verifier {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Commands and braces away, words kept.
std::string shown(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      std::size_t end = at + 1;
      while (end < text.size() && is_letter(text[end])) {
        ++end;
      }
      const std::string_view name = text.substr(at + 1, end - at - 1);
      if (name.empty() || name.starts_with("text") || name.starts_with("math") || name == "mbox" ||
          name == "bf" || name == "rm" || name == "left" || name == "right" || name == "quad" ||
          name == "qquad") {
        at = name.empty() ? at + 1 : end - 1;
        if (name.empty() || name == "quad" || name == "qquad") {
          out += ' ';
        }
        continue;
      }
      out += c;
    } else if (c == '~' || c == '\n' || c == '\t') {
      out += ' ';
    } else if (c != '{' && c != '}' && c != '$' && c != '*') {
      out += c;
    }
  }
  const std::size_t first = out.find_first_not_of(' ');
  if (first == std::string::npos) {
    return {};
  }
  return out.substr(first, out.find_last_not_of(' ') - first + 1);
}

}  // namespace

char choice_letter(std::string_view text, bool& bare) {
  bare = false;
  if (text.size() > 200) {
    return 0;
  }
  std::string s = shown(text);
  for (const std::string_view tail : {" is correct", " is the correct answer", " is right"}) {
    if (s.ends_with(tail) && s.size() <= tail.size() + 3) {
      s.erase(s.size() - tail.size());
    }
  }
  for (const std::string_view lead : {"Option ", "option ", "Choice ", "choice ", "Answer ",
                                      "answer ", "Answer: ", "The answer is ", "the answer is "}) {
    if (s.starts_with(lead)) {
      s.erase(0, lead.size());
    }
  }
  if (s.empty()) {
    return 0;
  }
  const bool opened = s[0] == '(';
  const std::size_t at = opened ? 1 : 0;
  if (at >= s.size() || !is_letter(s[at])) {
    return 0;
  }
  const char letter = static_cast<char>(s[at] >= 'a' ? s[at] - 'a' + 'A' : s[at]);
  if (letter > 'J') {
    return 0;
  }
  std::size_t next = at + 1;
  if (opened) {
    if (next >= s.size() || s[next] != ')') {
      return 0;
    }
    ++next;
  } else if (next < s.size()) {
    if (s[next] != '.' && s[next] != ')' && s[next] != ':') {
      return 0;
    }
    ++next;
    if (next < s.size() && s[next] != ' ') {
      return 0;
    }
  }
  const std::string_view rest = std::string_view(s).substr(next);
  bare = rest.empty();
  if (!bare) {
    // "(C) 12" names one letter, "(A), (B)" and "(a)(b)" are something else.
    if (rest[0] != ' ' && opened) {
      return 0;
    }
    for (std::size_t i = 0; i + 2 < rest.size(); ++i) {
      if (rest[i] == '(' && is_letter(rest[i + 1]) && rest[i + 2] == ')') {
        return 0;
      }
    }
    for (const std::string_view denial :
         {" not", " wrong", " or ", " and ", "incorrect", "false"}) {
      if (rest.find(denial) != std::string_view::npos) {
        return 0;
      }
    }
  }
  return letter;
}

}  // namespace minirl::rl::verifier
