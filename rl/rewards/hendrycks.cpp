// minirl rl/rewards/hendrycks.cpp -- the grader published with the MATH data set: the last \boxed
// anywhere, compared as text after fixed rewriting. For comparison with results that were graded
// so; docs/rewards/graders.md lists what it gets wrong. Written from its behaviour.
#include <optional>

#include "rl/reward.h"
#include "rl/rewards/grader_text.h"

namespace minirl::rl {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool is_integer_text(std::string_view text) {
  text = strip_spaces(text);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    text.remove_prefix(1);
  }
  return !text.empty() && text.find_first_not_of("0123456789") == kNone;
}
std::string plain_integer(std::string_view text) {
  text = strip_spaces(text);
  const bool negative = text[0] == '-';
  if (text[0] == '-' || text[0] == '+') {
    text.remove_prefix(1);
  }
  const std::size_t first = text.find_first_not_of('0');
  if (first == kNone) {
    return "0";
  }
  return std::string(negative ? "-" : "").append(text.substr(first));
}

std::optional<std::string> last_box(std::string_view text) {
  constexpr std::string_view kSpaced = "\\boxed ";
  if (const std::size_t at = text.rfind(kSpaced); at != kNone) {
    const std::string_view rest = text.substr(at + kSpaced.size());
    return std::string(rest.substr(0, rest.find('$')));
  }
  const std::size_t at = text.rfind("\\boxed");
  if (at == kNone) {
    return std::nullopt;
  }  // \fbox is found by the original and then refused
  std::size_t open = 0;
  const std::size_t end = group_end(text, at, open);
  if (end == kNone || open != at + 6) {
    return std::nullopt;
  }
  return std::string(text.substr(open + 1, end - open - 2));
}

/// \sqrt3 -> \sqrt{3}
std::string with_braced_roots(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 5, "\\sqrt") == 0) {
      out += "\\sqrt";
      at += 5;
      if (at < text.size() && text[at] != '{') {
        out.append("{").append(1, text[at]).append("}");
        ++at;
      }
    } else {
      out += text[at++];
    }
  }
  return out;
}

/// \frac12 and \frac1{b} -> \frac{1}{2}, \frac{1}{b}; a \frac too short leaves the text as it is.
std::string with_braced_fractions(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t hit = text.find("\\frac"); hit != std::string::npos;
       hit = text.find("\\frac", at)) {
    out.append(text, at, hit - at).append("\\frac");
    at = hit + 5;
    if (at < text.size() && text[at] == '{') {
      continue;
    }
    const std::size_t next = text.find("\\frac", at);
    if ((next == std::string::npos ? text.size() : next) - at < 2) {
      return text;
    }
    const char above = text[at];
    const char below = text[at + 1];
    out.append("{").append(1, above).append("}");
    if (below == '{') {
      at += 1;
    } else {
      out.append("{").append(1, below).append("}");
      at += 2;
    }
  }
  return out.append(text, at);
}

std::string rewritten(std::string text) {
  const std::pair<const char*, const char*> rules[] = {
      {"\n", ""},     {"\\!", ""},     {"\\\\", "\\"},    {"tfrac", "frac"}, {"dfrac", "frac"},
      {"\\left", ""}, {"\\right", ""}, {"^{\\circ}", ""}, {"^\\circ", ""},   {"\\$", ""}};
  for (const auto& [from, to] : rules) {
    replace_every(text, from, to);
  }
  if (const std::size_t unit = text.find("\\text{ "); unit != std::string::npos) {
    text.erase(unit);
  }
  for (const auto& [from, to] :
       {std::pair{"\\%", ""}, std::pair{" .", " 0."}, std::pair{"{.", "{0."}}) {
    replace_every(text, from, to);
  }
  if (text.empty()) {
    return text;
  }
  if (text[0] == '.') {
    text.insert(0, "0");
  }
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals <= 2 &&
      text.find('=', equals + 1) == std::string::npos) {
    text.erase(0, equals + 1);
  }
  text = with_braced_roots(text);
  replace_every(text, " ", "");
  text = with_braced_fractions(text);
  if (text == "0.5") {
    return "\\frac{1}{2}";
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos && text.find('/', slash + 1) == std::string::npos) {
    const std::string_view view = text;
    const auto above = view.substr(0, slash);
    const auto below = view.substr(slash + 1);
    if (is_integer_text(above) && is_integer_text(below) && plain_integer(above) == above &&
        plain_integer(below) == below) {
      return std::string("\\frac{").append(above).append("}{").append(below).append("}");
    }
  }
  return text;
}

RewardResult score(std::string_view gold, std::string_view completion) {
  RewardResult out;
  const auto answer = last_box(completion);
  if (!answer) {
    out.why = "no \\boxed that closes";
    return out;
  }
  out.answered = true;
  out.extracted = *answer;
  const bool equal = rewritten(*answer) == rewritten(std::string(gold));
  out.score = equal ? 1 : 0;
  out.why = equal ? "the same text after rewriting" : "another text after rewriting";
  return out;
}

const bool registered = Rewards::add(
    "hendrycks",
    {.name = "hendrycks",
     .summary = "the MATH data set's grader, for comparison: last \\boxed, text equality",
     .instruction = "Put the final answer within \\boxed{}.",
     .score = score,
     .check_gold = [](std::string_view) { return std::string(); }});

}  // namespace
}  // namespace minirl::rl
