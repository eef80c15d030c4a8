// minirl rl/rewards/math_boxed.cpp -- a boxed-answer grader in common use: the last \boxed
// anywhere, commas deleted, fractions compared exactly, then as formulas. For comparison
// (docs/rewards/graders.md). Written from its behaviour; its symbolic step is minirl's own
// comparison of what that step would accept.
#include <optional>

#include "rl/reward.h"
#include "rl/rewards/grader_text.h"
#include "rl/verifier/verify.h"

namespace minirl::rl {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kLongest = 4096;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<std::string> answer_of(std::string_view text) {
  if (const std::size_t at = text.rfind("\\boxed"); at != kNone) {
    std::size_t open = 0;
    const std::size_t end = group_end(text, at, open);
    if (end == kNone) {
      return std::nullopt;
    }
    std::string_view inner = text.substr(open + 1, end - open - 2);
    if (const std::size_t equals = inner.rfind('='); equals != kNone) {
      inner.remove_prefix(equals + 1);
    }
    return std::string(strip_spaces(inner));
  }
  for (std::size_t at = text.find("####"); at != kNone; at = text.find("####", at + 1)) {
    std::size_t next = at + 4;
    while (next < text.size() && (text[next] == ' ' || text[next] == '\t' || text[next] == '\n')) {
      ++next;
    }
    std::string number;
    if (next < text.size() && text[next] == '-') {
      number += text[next++];
    }
    while (next < text.size() && (is_digit(text[next]) || text[next] == ',' || text[next] == '.')) {
      if (text[next] != ',') {
        number += text[next];
      }
      ++next;
    }
    if (number.find_first_of("0123456789") != std::string::npos) {
      return number;
    }
  }
  return std::nullopt;
}

/// The place of the innermost \frac{a}{b}: the first whose two groups hold no braces.
bool open_one_fraction(std::string& text) {
  for (std::size_t at = text.find("\\frac{"); at != std::string::npos;
       at = text.find("\\frac{", at + 1)) {
    const std::size_t a = at + 6;
    const std::size_t a_end = text.find_first_of("{}", a);
    if (a_end == std::string::npos || text[a_end] != '}' || a_end + 1 >= text.size() ||
        text[a_end + 1] != '{') {
      continue;
    }
    const std::size_t b = a_end + 2;
    const std::size_t b_end = text.find_first_of("{}", b);
    if (b_end == std::string::npos || text[b_end] != '}') {
      continue;
    }
    std::string quotient = "((";
    quotient.append(text, a, a_end - a).append(")/(").append(text, b, b_end - b).append("))");
    text.replace(at, b_end + 1 - at, quotient);
    return true;
  }
  return false;
}

std::string normalised(std::string text) {
  for (const std::string_view gone : {" ", "$"}) {
    replace_every(text, gone, "");
  }
  for (std::size_t at = text.find("\\text{"); at != std::string::npos;
       at = text.find("\\text{", at)) {
    const std::size_t close = text.find('}', at);
    if (close == std::string::npos) {
      break;
    }
    text.erase(at, close + 1 - at);
  }
  for (const std::string_view gone :
       {"\\left", "\\right", "\\,", "\\!", "\\;", "\\quad", "\\qquad"}) {
    replace_every(text, gone, "");
  }
  for (const std::string_view fraction : {"\\dfrac", "\\tfrac"}) {
    replace_every(text, fraction, "\\frac");
  }
  for (int i = 0; i < 3 * 64 && open_one_fraction(text); ++i) {
  }
  replace_every(text, "\\cdot", "*");
  replace_every(text, "\\times", "*");
  replace_every(text, "^", "**");
  for (const std::string_view gone : {",", "%"}) {
    replace_every(text, gone, "");
  }
  return text;
}

/// A decimal or an integer quotient, as an exact number reads it.
bool is_fraction(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    text.remove_prefix(1);
  }
  const std::size_t slash = text.find('/');
  const auto digits = [](std::string_view t) {
    return !t.empty() && t.find_first_not_of("0123456789") == kNone;
  };
  if (slash != kNone) {
    return digits(text.substr(0, slash)) && digits(text.substr(slash + 1));
  }
  const std::size_t dot = text.find('.');
  if (dot == kNone) {
    return digits(text);
  }
  const std::string_view whole = text.substr(0, dot);
  const std::string_view part = text.substr(dot + 1);
  return (whole.empty() || digits(whole)) && (part.empty() || digits(part)) &&
         !(whole.empty() && part.empty());
}

/// What a program would read as a formula: no LaTeX, no 2x.
bool is_formula(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!is_digit(c) && !is_letter(c) && std::string_view("+-*/().").find(c) == kNone) {
      return false;
    }
    if (i > 0 && ((is_digit(text[i - 1]) && is_letter(c)) ||
                  (text[i - 1] == ')' && (c == '(' || is_letter(c) || is_digit(c))))) {
      return false;
    }
  }
  return !text.empty();
}

RewardResult score(std::string_view gold, std::string_view completion) {
  RewardResult out;
  const auto answer = answer_of(completion);
  if (!answer) {
    out.why = "no \\boxed{} that closes, no ####";
    return out;
  }
  out.answered = true;
  out.extracted = *answer;
  if (gold.empty()) {
    out.why = "no gold answer";
    return out;
  }
  if (*answer == gold) {
    out.score = 1;
    out.why = "the same text";
    return out;
  }
  if (answer->size() > kLongest || gold.size() > kLongest) {
    out.why = "too long";
    return out;
  }
  const std::string a = normalised(*answer);
  const std::string b = normalised(std::string(gold));
  const bool numbers = is_fraction(a) && is_fraction(b);
  if (numbers || (is_formula(a) && is_formula(b))) {
    out.score = verifier::compare(b, a).outcome == verifier::Outcome::right ? 1 : 0;
  }
  out.why = numbers ? "compared as fractions" : "compared as formulas";
  return out;
}

const bool registered = Rewards::add(
    "math_boxed",
    {.name = "math_boxed",
     .summary = "a common boxed-answer grader, for comparison: last \\boxed, commas deleted",
     .instruction = "Put the final answer within \\boxed{}.",
     .score = score,
     .check_gold = [](std::string_view gold) {
       return gold.empty() ? std::string("it is empty") : std::string();
     }});

}  // namespace
}  // namespace minirl::rl
