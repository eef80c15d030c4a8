#include "rl/rewards/answer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <boost/multiprecision/cpp_int.hpp>

namespace minirl::rl {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

constexpr std::size_t kNone = std::string_view::npos;
constexpr int kDeepestFraction = 32;

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

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (text.find(from) == std::string::npos) {
    return;
  }
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  for (std::size_t hit = text.find(from); hit != std::string::npos; hit = text.find(from, at)) {
    out.append(text, at, hit - at).append(to);
    at = hit + from.size();
  }
  text = out.append(text, at);
}

/// A command is only itself when no letter follows: \left but not \leftarrow.
void drop_command(std::string& text, std::string_view command, std::string_view to) {
  std::size_t at = text.find(command);
  if (at == std::string::npos) {
    return;
  }
  std::string out;
  std::size_t from = 0;
  for (; at != std::string::npos; at = text.find(command, at + command.size())) {
    const std::size_t end = at + command.size();
    if (end < text.size() && is_letter(text[end])) {
      continue;
    }
    out.append(text, from, at - from).append(to);
    from = end;
  }
  text = out.append(text, from);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

/// Takes off what encloses the whole answer: braces, $...$, **...**, \text{...}, \boxed{...}, a
/// final dot.
std::string_view unwrap(std::string_view text) {
  static constexpr std::array<std::string_view, 13> kWrappers{
      "\\text",   "\\textbf", "\\textrm", "\\textit", "\\textnormal",   "\\mathrm", "\\mathbf",
      "\\mathit", "\\mbox",   "\\boxed",  "\\fbox",   "\\operatorname", "\\mathsf"};
  const auto match = match_braces(text);
  const char* const base = text.data();
  const auto closes_at_end = [&](std::string_view part, std::size_t brace) {
    const std::size_t close = match[static_cast<std::size_t>(part.data() - base) + brace];
    return close == static_cast<std::size_t>(part.data() - base) + part.size() - 1;
  };
  for (;;) {
    text = trimmed(text);
    const std::size_t size = text.size();
    if (size >= 4 && text.starts_with("**") && text.ends_with("**")) {
      text = text.substr(2, size - 4);
    } else if (size >= 2 && text.front() == '$' && text.back() == '$') {
      text = text.substr(1, size - 2);
    } else if (size >= 2 && text.front() == '{' && closes_at_end(text, 0)) {
      text = text.substr(1, size - 2);
    } else if (size >= 2 && text.back() == '.') {
      text.remove_suffix(1);
    } else {
      bool found = false;
      for (const auto wrapper : kWrappers) {
        if (!text.starts_with(wrapper)) {
          continue;
        }
        std::size_t brace = wrapper.size();
        while (brace < size && is_space(text[brace])) {
          ++brace;
        }
        if (brace < size && text[brace] == '{' && closes_at_end(text, brace)) {
          text = text.substr(brace + 1, size - brace - 2);
          found = true;
          break;
        }
      }
      if (!found) {
        return text;
      }
    }
  }
}

/// "x = 5" -> "5"; an equation ("3x + y = 0") stays. The left side must be one short name.
std::string_view after_name(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == kNone || text.find('=', equals + 1) != kNone) {
    return text;
  }
  const std::string_view name = trimmed(text.substr(0, equals));
  if (name.size() > 16) {
    return text;
  }
  for (const char c : name) {
    if (!is_letter(c) && c != '_' && c != '&') {
      return text;
    }
  }
  return trimmed(text.substr(equals + 1));
}

/// A reader of integers, decimals and fractions.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : text_(text) {}

  std::optional<cpp_rational> whole() {
    auto value = signed_value(0);
    if (!value) {
      return std::nullopt;
    }
    spaces();
    if (at_ < text_.size() && text_[at_] == '/') {
      ++at_;
      const auto below = signed_value(0);
      if (!below || *below == 0) {
        return std::nullopt;
      }
      *value /= *below;
      spaces();
    }
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      ++at_;
    }
  }

  std::optional<cpp_rational> signed_value(int depth) {
    spaces();
    bool negative = false;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) {
      negative = text_[at_] == '-';
      ++at_;
      spaces();
    }
    auto value = primary(depth);
    if (value && negative) {
      *value = -*value;
    }
    return value;
  }

  std::optional<cpp_rational> primary(int depth) {
    if (depth > kDeepestFraction || at_ >= text_.size()) {
      return std::nullopt;
    }
    if (text_.substr(at_).starts_with("\\frac")) {
      at_ += 5;
      auto above = argument(depth + 1);
      if (!above) {
        return std::nullopt;
      }
      const auto below = argument(depth + 1);
      if (!below || *below == 0) {
        return std::nullopt;
      }
      return *above / *below;
    }
    if (text_[at_] == '{') {
      ++at_;
      auto value = signed_value(depth + 1);
      spaces();
      if (!value || at_ >= text_.size() || text_[at_] != '}') {
        return std::nullopt;
      }
      ++at_;
      return value;
    }
    return decimal();
  }

  /// {value} or one digit: \frac12 is one half.
  std::optional<cpp_rational> argument(int depth) {
    spaces();
    if (at_ >= text_.size()) {
      return std::nullopt;
    }
    if (text_[at_] == '{') {
      return primary(depth);
    }
    if (!is_digit(text_[at_])) {
      return std::nullopt;
    }
    return cpp_rational(text_[at_++] - '0');
  }

  std::optional<cpp_rational> decimal() {
    std::string digits;
    std::size_t after_point = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      digits += text_[at_++];
    }
    // Thousands: groups of exactly three after one to three digits.
    if (!digits.empty() && digits.size() <= 3) {
      while (group_follows()) {
        digits.append(text_.substr(at_ + 1, 3));
        at_ += 4;
      }
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      while (at_ < text_.size() && is_digit(text_[at_])) {
        digits += text_[at_++];
        ++after_point;
      }
    }
    if (digits.empty()) {
      return std::nullopt;
    }
    const std::size_t first = digits.find_first_not_of('0');  // a leading 0 would mean octal
    const cpp_int value(first == std::string::npos ? std::string("0") : digits.substr(first));
    if (after_point == 0) {
      return cpp_rational(value);
    }
    return cpp_rational(
        value, boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(after_point)));
  }

  bool group_follows() const {
    if (at_ + 3 >= text_.size() || text_[at_] != ',') {
      return false;
    }
    for (std::size_t i = 1; i <= 3; ++i) {
      if (!is_digit(text_[at_ + i])) {
        return false;
      }
    }
    return at_ + 4 >= text_.size() || !is_digit(text_[at_ + 4]);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<cpp_rational> read_number(std::string_view normalized) {
  if (normalized.size() > kLongestNumber) {
    return std::nullopt;
  }
  return NumberReader(normalized).whole();
}

/// Spaces next to anything but letters and digits carry no meaning.
std::string without_idle_spaces(std::string_view text) {
  const auto word = [](char c) { return is_digit(c) || is_letter(c); };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_space(text[i])) {
      out += text[i];
      continue;
    }
    std::size_t next = i;
    while (next < text.size() && is_space(text[next])) {
      ++next;
    }
    if (!out.empty() && next < text.size() && word(out.back()) && word(text[next])) {
      out += ' ';
    }
    i = next - 1;
  }
  return out;
}

bool is_word(std::string_view text) {
  return text.size() >= 2 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || c == ' '; });
}

}  // namespace

std::string normalize_answer(std::string_view answer) {
  std::string text(answer);
  using Rule = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Rule, 14> kPlain{{
      {"\xe2\x80\x8b", ""},
      {"\xef\xbb\xbf", ""},
      {"\xe2\x81\xa0", ""},  // zero width
      {"\xc2\xa0", " "},
      {"\xe2\x88\x92", "-"},
      {"\xe2\x80\x93", "-"},  // no-break space, minus, en dash
      {"\\$", ""},
      {"\\,", " "},
      {"\\;", " "},
      {"\\:", " "},
      {"\\ ", " "},
      {"~", " "},
      {"{,}", ","},
      {"&", ""},
  }};
  static constexpr std::array<Rule, 12> kCommands{{
      {"\\dfrac", "\\frac"},
      {"\\tfrac", "\\frac"},
      {"\\cfrac", "\\frac"},
      {"\\left", ""},
      {"\\right", ""},
      {"\\displaystyle", ""},
      {"\\textstyle", ""},
      {"\\large", ""},
      {"\\Large", ""},
      {"\\quad", " "},
      {"\\qquad", " "},
      {"\\limits", ""},
  }};
  replace_all(text, ",\\!", ",");
  replace_all(text, "\\!", "");
  replace_all(text, "\\left.", "");
  replace_all(text, "\\right.", "");
  for (const auto& [from, to] : kPlain) {
    replace_all(text, from, to);
  }
  for (const auto& [from, to] : kCommands) {
    drop_command(text, from, to);
  }
  const std::string_view inner = unwrap(after_name(unwrap(text)));
  return without_idle_spaces(inner);
}

bool is_number(std::string_view answer) {
  return read_number(normalize_answer(answer)).has_value();
}

Comparison compare_answers(std::string_view gold, std::string_view answer) {
  const std::string a = normalize_answer(gold);
  const std::string b = normalize_answer(answer);
  if (a.empty() || b.empty()) {
    return {false, b.empty() ? "the answer is empty" : "the gold answer is empty"};
  }
  if (a == b) {
    return {true, "equal text"};
  }
  const auto x = read_number(a);
  const auto y = read_number(b);
  if (x && y) {
    return *x == *y ? Comparison{true, "equal numbers"} : Comparison{false, "different numbers"};
  }
  if (is_word(a) && is_word(b) && a.size() == b.size() &&
      std::equal(a.begin(), a.end(), b.begin(),
                 [](char p, char q) { return lower(p) == lower(q); })) {
    return {true, "equal words"};
  }
  return {false, "different text"};
}

}  // namespace minirl::rl
