// Where the answer of a completion stands: after the thinking, in the last group of boxes.
#include <algorithm>
#include <array>
#include <cstddef>

#include "rl/rewards/answer.h"

namespace minirl::rl {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_any_case(std::string_view text, std::size_t at, std::string_view word) {
  if (text.size() - at < word.size()) {
    return false;
  }
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(text[at + i]) != word[i]) {
      return false;
    }
  }
  return true;
}

/// "x =" or "n=" in front of the next box.
std::size_t name_size(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && at < 12 &&
         (is_letter(text[at]) || is_digit(text[at]) || text[at] == '_')) {
    ++at;
  }
  if (at == 0) {
    return 0;
  }
  while (at < text.size() && is_space(text[at])) {
    ++at;
  }
  return at < text.size() && text[at] == '=' ? at + 1 : 0;
}

bool only_joins(std::string_view between) {
  static constexpr std::array<std::string_view, 19> kJoins{
      "\\text{and}",
      "\\text{or}",
      "\\text{ and }",
      "\\text{ or }",
      "\\quad",
      "\\)",
      "\\(",
      "\\,",
      "and",
      "or",
      ",",
      "$",
      ";",
      "\\;",
      "\\ ",
      "&",
      "\xe5\x92\x8c",
      "\xe6\x88\x96",
      "\xe3\x80\x81"};  // and, or, comma of Chinese text
  std::size_t at = 0;
  bool joined = false;  // by a word or a comma, not by nothing
  while (at < between.size()) {
    if (is_space(between[at])) {
      ++at;
      continue;
    }
    bool found = false;
    for (const auto join : kJoins) {
      if (starts_with_any_case(between, at, join)) {
        at += join.size();
        joined = joined || is_letter(join[0]) || join == "," || join == ";" ||
                 join.ends_with("}") || join.ends_with("} ") ||
                 static_cast<unsigned char>(join[0]) >= 0x80;
        found = true;
        break;
      }
    }
    if (const std::size_t name = found ? 0 : name_size(between.substr(at)); name > 0 && joined) {
      at += name;
      found = true;
    }
    if (!found) {
      return false;
    }
  }
  return true;
}

struct LastEnds {  // so that a missing end is not searched for again and again
  std::size_t comment, fi;
};

/// Places where a box is not shown: \phantom{...}, \cancel{...}, a comment line, <!-- ... -->,
/// \iffalse ... \fi. Returns the end of such a place at `at`, or `at`.
std::size_t hidden_end(std::string_view text, std::size_t at, const LastEnds& last,
                       const std::vector<std::size_t>& match) {
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("<!--")) {
    return last.comment == kNone || last.comment < at ? at : at + rest.find("-->") + 3;
  }
  if (rest[0] == '%') {
    std::size_t back = at;
    while (back > 0 && (text[back - 1] == ' ' || text[back - 1] == '\t')) {
      --back;
    }
    if (back > 0 && text[back - 1] != '\n') {
      return at;
    }
    const std::size_t end = rest.find('\n');
    return end == kNone ? text.size() : at + end;
  }
  if (rest.starts_with("\\iffalse")) {
    return last.fi == kNone || last.fi < at + 8 ? at : at + rest.find("\\fi", 8) + 3;
  }
  for (const std::string_view command : {"\\phantom{", "\\hphantom{", "\\vphantom{", "\\cancel{",
                                         "\\bcancel{", "\\xcancel{", "\\sout{", "\\st{"}) {
    if (rest.starts_with(command) && match[at + command.size() - 1] != kNone) {
      return match[at + command.size() - 1];
    }
  }
  return at;
}

/// \boxed\frac{1}{2}, \boxed\sqrt2: the end of the command with its arguments; 0: it is none.
std::size_t command_end(std::string_view text, std::size_t at,
                        const std::vector<std::size_t>& match) {
  std::size_t arguments = 0;
  for (const std::string_view name : {"\\frac", "\\dfrac", "\\tfrac", "\\sqrt"}) {
    if (text.substr(at).starts_with(name)) {
      arguments = name == "\\sqrt" ? 1 : 2;
      at += name.size();
      break;
    }
  }
  if (arguments == 0) {
    return 0;
  }
  for (; arguments > 0; --arguments) {
    while (at < text.size() && is_space(text[at])) {
      ++at;
    }
    if (at >= text.size() || (text[at] == '{' && match[at] == kNone)) {
      return 0;
    }
    if (text[at] != '{' && !is_digit(text[at])) {
      return 0;
    }
    at = text[at] == '{' ? match[at] + 1 : at + 1;
  }
  return at;
}

/// \boxed x inside of mathematics.
bool is_boxed_letter(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at + 1);
  return is_letter(text[at]) &&
         (rest.starts_with("$") || rest.starts_with("\\)") || rest.starts_with("\\]"));
}

}  // namespace

std::vector<std::size_t> match_braces(std::string_view text) {
  std::vector<std::size_t> match(text.size(), kNone);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;  // \{ \} \\ and the first letter of a command
    } else if (text[i] == '{') {
      open.push_back(i);
    } else if (text[i] == '}' && !open.empty()) {
      match[open.back()] = i;
      open.pop_back();
    }
  }
  return match;
}

std::string_view without_end_tokens(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kEnds{
      "<|im_end|>",
      "<|endoftext|>",
      "</s>",
      "<|eot_id|>",
      "<|end_of_text|>",
      "<end_of_turn>",
      "<eos>",
      "<|end|>",
      "<\xef\xbd\x9c"
      "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"};
  for (bool more = true; more;) {
    more = false;
    while (!text.empty() && is_space(text.back())) {
      text.remove_suffix(1);
    }
    for (const std::string_view end : kEnds) {
      if (text.ends_with(end)) {
        text.remove_suffix(end.size());
        more = true;
      }
    }
  }
  return text;
}

std::optional<std::string_view> after_thinking(std::string_view completion) {
  // An opening or closing tag of either name at `at`: its length, 0 if there is none.
  const auto tag = [&](std::size_t at, bool closing) -> std::size_t {
    std::size_t next = at + 1;
    if (closing) {
      if (next >= completion.size() || completion[next] != '/') {
        return 0;
      }
      ++next;
    }
    for (const std::string_view name : {"thinking", "think", "thought"}) {
      if (next < completion.size() && starts_with_any_case(completion, next, name)) {
        std::size_t end = next + name.size();
        while (end < completion.size() && completion[end] == ' ' && end - next < 16) {
          ++end;
        }
        return end < completion.size() && completion[end] == '>' ? end + 1 - at : 0;
      }
    }
    return 0;
  };
  bool open = false;
  bool any = false;
  std::size_t start = 0;
  for (std::size_t at = completion.find('<'); at != kNone; at = completion.find('<', at + 1)) {
    if (tag(at, false) > 0) {
      open = true;
      any = true;
    } else if (const std::size_t size = tag(at, true); size > 0) {
      if (open || !any) {
        start = at + size;
      }
      open = false;
      any = true;
    }
  }
  if (open) {
    return std::nullopt;
  }
  return completion.substr(start);
}

Boxes last_boxes(std::string_view text) {
  struct Box {
    std::size_t begin = 0, end = 0;  // of the whole command
    std::string_view content;
    bool closed = false;
  };
  const auto match = match_braces(text);
  const LastEnds last{text.rfind("-->"), text.rfind("\\fi")};
  std::vector<Box> group;  // the boxes of the last group so far
  std::size_t at = 0;
  while ((at = text.find_first_of("\\%<", at)) != kNone) {
    if (const std::size_t end = hidden_end(text, at, last, match); end > at) {
      at = end;
      continue;
    }
    if (text[at] != '\\') {
      ++at;
      continue;
    }
    const bool boxed = text.substr(at + 1).starts_with("boxed");
    if (!boxed && !text.substr(at + 1).starts_with("fbox")) {
      at += 2;
      continue;
    }
    Box box;
    box.begin = at;
    std::size_t next = at + (boxed ? 6 : 5);
    at = next;
    while (next < text.size() && is_space(text[next])) {
      ++next;
    }
    if (next >= text.size()) {
      break;
    }
    if (text[next] == '{') {
      box.closed = match[next] != kNone;
      box.end = box.closed ? match[next] + 1 : next + 1;
      box.content = box.closed ? text.substr(next + 1, match[next] - next - 1) : std::string_view{};
    } else if (const std::size_t stop = command_end(text, next, match); stop > 0) {
      box.closed = true;
      box.end = stop;
      box.content = text.substr(next, stop - next);
    } else if (is_boxed_letter(text, next)) {
      box.closed = true;
      box.end = next + 1;
      box.content = text.substr(next, 1);
    } else {  // \boxed 5: a number without braces; \boxed in prose is no box
      std::size_t end = next;
      if (text[end] == '-') {
        ++end;
      }
      if (end >= text.size() || !is_digit(text[end])) {
        continue;
      }
      while (end < text.size() &&
             (is_digit(text[end]) || text[end] == '.' || text[end] == ',' || text[end] == '/')) {
        ++end;
      }
      while (!is_digit(text[end - 1])) {
        --end;
      }
      box.closed = true;
      box.end = end;
      box.content = text.substr(next, end - next);
    }
    at = box.end;
    if (!group.empty() &&
        !(group.back().closed &&
          only_joins(text.substr(group.back().end, box.begin - group.back().end)))) {
      group.clear();
    }
    group.push_back(box);
  }
  Boxes out;
  if (group.empty()) {
    out.why = "no \\boxed{}";
    return out;
  }
  for (const Box& box : group) {
    if (!box.closed) {
      out.contents.clear();
      out.why = "the last \\boxed{ never closes";
      return out;
    }
    if (std::all_of(box.content.begin(), box.content.end(), is_space)) {
      out.contents.clear();
      out.why = "the last \\boxed{} is empty";
      return out;
    }
    out.contents.push_back(box.content);
  }
  return out;
}

}  // namespace minirl::rl
