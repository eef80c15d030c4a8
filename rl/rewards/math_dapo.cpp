// minirl rl/rewards/math_dapo.cpp -- the grader of the DAPO recipe as trainers ship it: the last
// "Answer:" line of the last 300 bytes, compared as text after fixed deletions; without such a
// line, a \boxed in the last 100 bytes, compared unchanged. +1 or -1. For comparison
// (docs/rewards/graders.md). Written from its behaviour.
#include <optional>

#include "rl/reward.h"
#include "rl/rewards/grader_text.h"

namespace minirl::rl {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// What follows the last "answer:" up to the end of its line.
std::optional<std::string> answer_line(std::string_view text) {
  std::optional<std::string> found;
  for (std::size_t at = 0; at + 7 <= text.size();) {
    std::size_t i = 0;
    while (i < 6 && (text[at + i] | 0x20) == "answer"[i]) {
      ++i;
    }
    if (i < 6) {
      ++at;
      continue;
    }
    std::size_t next = at + 6;
    while (next < text.size() && is_space(text[next])) {
      ++next;
    }
    if (next >= text.size() || text[next] != ':') {
      ++at;
      continue;
    }
    ++next;
    while (next < text.size() && is_space(text[next])) {
      ++next;
    }
    if (next >= text.size()) {
      break;
    }
    const std::size_t end = text.find('\n', next);
    found = std::string(text.substr(next, end == kNone ? kNone : end - next));
    at = end == kNone ? text.size() : end;
  }
  return found;
}

/// command{x} -> x, the shortest x (or the longest, up to the last brace).
void open_groups(std::string& text, std::string_view command, bool longest) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t hit = text.find(command); hit != std::string::npos;
       hit = text.find(command, at)) {
    const std::size_t begin = hit + command.size();
    const std::size_t close = longest ? text.rfind('}') : text.find('}', begin);
    if (close == std::string::npos || close < begin) {
      break;
    }
    out.append(text, at, hit - at).append(text, begin, close - begin);
    at = close + 1;
  }
  text = out.append(text, at);
}

std::string normalised(std::string text) {
  if (const std::size_t equals = text.rfind('='); equals != std::string::npos) {
    text.erase(0, equals + 1);
  }
  static constexpr std::pair<std::string_view, std::string_view> kChanged[] = {
      {"an ", ""},          {"a ", ""},
      {".$", "$"},          {"\\$", ""},
      {"\\ ", ""},          {" ", ""},
      {"mbox", "text"},     {",\\text{and}", ","},
      {"\\text{and}", ","}, {"\\text{m}", "\\text{}"}};
  for (const auto& [from, to] : kChanged) {
    replace_every(text, from, to);
  }
  static constexpr std::string_view kDeleted[] = {
      "square",     "ways",       "integers",  "dollars",      "mph",
      "inches",     "hours",      "km",        "units",        "\\ldots",
      "sue",        "points",     "feet",      "minutes",      "digits",
      "cents",      "degrees",    "cm",        "gm",           "pounds",
      "meters",     "meals",      "edges",     "students",     "childrentickets",
      "multiples",  "\\text{s}",  "\\text{.}", "\\text{\ns}",  "\\text{}^2",
      "\\text{}^3", "\\text{\n}", "\\text{}",  "\\mathrm{th}", "^\\circ",
      "^{\\circ}",  "\\;",        ",\\!",      "{,}",          "\"",
      "\\dots"};
  for (const auto word : kDeleted) {
    replace_every(text, word, "");
  }
  const std::size_t dollar = text.find('$');
  if (dollar != std::string::npos) {
    const std::size_t next = text.find('$', dollar + 1);
    if (next != std::string::npos) {
      text = text.substr(dollar, next - dollar + 1);
    }
  }
  for (const std::string_view command : {"\\text{", "\\textbf{", "\\overline{"}) {
    open_groups(text, command, false);
  }
  open_groups(text, "\\boxed{", true);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {  // \frac12 and \sqrt2 get braces
    const bool fraction = text.compare(at, 4, "frac") == 0;
    if ((fraction && at + 5 < text.size() && text[at + 4] != '{') ||
        (text.compare(at, 4, "sqrt") == 0 && at + 4 < text.size() && text[at + 4] != '{')) {
      out.append(text, at, 4).append("{").append(1, text[at + 4]).append("}");
      at += 5;
      if (fraction) {
        out.append("{").append(1, text[at++]).append("}");
      }
    } else {
      out += text[at++];
    }
  }
  replace_every(out, "$", "");
  std::string digits = out;
  replace_every(digits, ",", "");
  if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos) {
    out = digits;
  }
  return std::string(strip_spaces(out));
}

RewardResult score(std::string_view gold, std::string_view completion) {
  const auto tail = [&](std::size_t n) {
    return completion.size() > n ? completion.substr(completion.size() - n) : completion;
  };
  RewardResult out;
  out.score = -1;
  if (const auto line = answer_line(tail(300))) {
    out.answered = true;
    out.extracted = normalised(*line);
    out.score = out.extracted == normalised(std::string(gold)) ? 1 : -1;
    out.why = "the last answer line, as text";
    return out;
  }
  const std::string_view end = tail(100);
  const std::size_t at = end.rfind("\\boxed{");
  std::size_t open = 0;
  const std::size_t close = at == kNone ? kNone : group_end(end, at, open);
  if (close == kNone) {
    out.why = "no answer line, no box in the last 100 bytes";
    return out;
  }
  out.answered = true;
  out.extracted = std::string(end.substr(open + 1, close - open - 2));
  out.score = out.extracted == gold ? 1 : -1;
  out.why = "a box in the last 100 bytes, unchanged text";
  return out;
}

const bool registered = Rewards::add(
    "math_dapo",
    {.name = "math_dapo",
     .summary = "the DAPO recipe's grader, for comparison: last \"Answer:\" line as text; +1 or -1",
     .instruction = "End with a line \"Answer: \" and the final answer.",
     .score = score,
     .check_gold = [](std::string_view) { return std::string(); }});

}  // namespace
}  // namespace minirl::rl
