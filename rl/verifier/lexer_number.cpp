// Numerals: thousands separators, decimals, repeating decimals, exponents.
#include <algorithm>

#include "rl/verifier/lexer_state.h"

namespace minirl::rl::verifier {

/// What separates thousands at `at`: its length, 0 if nothing does.
std::size_t Lexer::separator(std::size_t at, std::size_t end) const {
  const std::string_view rest = text_.substr(at, end - at);
  std::size_t size = 0;
  if (rest.starts_with("{,}")) {
    size = 3;
    while (rest.substr(size).starts_with("\\!")) {
      size += 2;
    }
  } else if (rest.starts_with(",\\!")) {
    size = 3;
    while (size < rest.size() && is_space(rest[size])) {
      ++size;
    }
  } else if (rest.starts_with("'")) {  // 7'425'000
    size = 1;
  } else if (rest.starts_with(",") && rest.find("\\!") < 4 &&
             rest.substr(1).find_first_not_of(" ") + 1 == rest.find("\\!")) {  // 7, \! 425
    size = rest.find("\\!") + 2;
    while (size < rest.size() && is_space(rest[size])) {
      ++size;
    }
  } else if (rest.starts_with("\\!,")) {
    size = rest.substr(3).starts_with("\\!") ? 5 : 3;
  } else if (rest.starts_with("{\\,}")) {
    size = 4;
  } else if (rest.starts_with("\\,") || rest.starts_with("\\ ") || rest.starts_with("\\;") ||
             rest.starts_with("\\:")) {
    size = 2;
  } else if (rest.starts_with(" ") || rest.starts_with("~")) {
    size = 1;
  } else if (rest.starts_with(",") && options_.thousands && brackets_ <= 0 && sets_ == 0) {
    size = 1;
  }
  if (size == 0 || rest.size() < size + 3) {
    return 0;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_digit(rest[size + i])) {
      return 0;
    }
  }
  if (rest.size() > size + 3 &&
      (is_digit(rest[size + 3]) || (rest[0] != ',' && rest[size + 3] == '/'))) {
    return 0;
  }
  return size;
}

/// \dot{1}4285\dot{7}: the first and the last digit of the block are dotted.
std::string Lexer::dotted(std::size_t& at, std::size_t end) {
  std::string block;
  std::size_t next = at;
  int dots = 0;
  while (next < end && dots < 2) {
    const std::string_view rest = text_.substr(next, end - next);
    if (rest.starts_with("\\dot{") && rest.size() > 6 && is_digit(rest[5]) && rest[6] == '}') {
      block += rest[5];
      next += 7;
    } else if (rest.starts_with("\\dot ") && rest.size() > 5 && rest[5] != ' ') {
      if (rest.size() <= 5 || !is_digit(rest[5])) {
        break;
      }
      block += rest[5];
      next += 6;
    } else if (rest.starts_with("\\dot") && rest.size() > 4 && is_digit(rest[4])) {
      block += rest[4];
      next += 5;
    } else if (dots == 1 && is_digit(rest[0])) {
      block += rest[0];
      ++next;
      continue;
    } else {
      break;
    }
    ++dots;
    if (dots == 1) {
      at = next;  // one dot is a block of one digit
    }
  }
  if (dots == 2) {
    at = next;
    return block;
  }
  return block.substr(0, dots == 0 ? 0 : 1);
}

std::string Lexer::repeating(std::size_t& at, std::size_t end, std::string& digits,
                             std::size_t& after) {
  const std::string_view rest = text_.substr(at, end - at);
  std::string block;
  if (rest.starts_with("\\dot") && !rest.starts_with("\\dots")) {
    return dotted(at, end);
  }
  for (const std::string_view over : {"\\overline", "\\bar"}) {
    if (!rest.starts_with(over)) {
      continue;
    }
    std::size_t next = skip_spaces(at + over.size(), end);
    const bool group = next < end && text_[next] == '{';
    next += group ? 1 : 0;
    while (next < end && is_digit(text_[next]) && (group || block.empty())) {
      block += text_[next++];
    }
    if (group && (next >= end || text_[next] != '}')) {
      return {};
    }
    at = block.empty() ? at : next + (group ? 1 : 0);
    return block;
  }
  if (rest.starts_with("(")) {  // 0.1(6), at the end of an answer only
    const std::size_t close = rest.find(')');
    if (close != std::string_view::npos && close > 1 && close < 40 &&
        std::all_of(rest.begin() + 1, rest.begin() + static_cast<std::ptrdiff_t>(close),
                    is_digit) &&
        rest.find_first_not_of(" .$", close + 1) == std::string_view::npos) {
      block = std::string(rest.substr(1, close - 1));
      at += close + 1;
    }
    return block;
  }
  for (const std::string_view dots : {"...", "\\ldots", "\\dots", "\\cdots"}) {
    if (!rest.starts_with(dots)) {
      continue;
    }
    // 0.333..., 0.1212...: the shortest block at the end that is seen often enough
    for (std::size_t size = 1; size <= 12 && size * 2 <= after; ++size) {
      const std::string_view tail = std::string_view(digits).substr(digits.size() - after);
      const std::string_view last = tail.substr(tail.size() - size);
      std::size_t times = 1;
      while ((times + 1) * size <= tail.size() &&
             tail.substr(tail.size() - (times + 1) * size, size) == last) {
        ++times;
      }
      if (times >= (size == 1 ? 3U : 2U) && last.find_first_not_of('0') != std::string_view::npos) {
        block = std::string(last);
        at += dots.size();
        break;
      }
    }
    return block;
  }
  return block;
}

std::size_t Lexer::number(std::size_t at, std::size_t end) {
  std::string digits;
  std::size_t after = 0;
  bool literal = true;
  while (at < end && is_digit(text_[at])) {
    digits += text_[at++];
  }
  if (!digits.empty() && digits.size() <= 3 && digits[0] != '0') {
    for (std::size_t size = separator(at, end); size > 0; size = separator(at, end)) {
      digits.append(text_.substr(at + size, 3));
      at += size + 3;
      literal = false;
    }
  }
  std::string again;
  if (at < end && text_[at] == '.' && !text_.substr(at).starts_with("..")) {
    literal = false;
    ++at;
    while (at < end && is_digit(text_[at])) {
      digits += text_[at++];
      ++after;
    }
    again = repeating(at, end, digits, after);
  }
  if (digits.size() + again.size() > kMostDigits) {
    throw Stop{"a number is too long"};
  }
  Rational value = exact(digits, after);
  if (!again.empty()) {
    if (after + again.size() > 1000) {
      throw Stop{"a number is too long"};
    }
    const Integer nines =
        boost::multiprecision::pow(Integer(10), static_cast<unsigned>(again.size())) - 1;
    value += Rational(
        to_integer(again),
        Integer(nines * boost::multiprecision::pow(Integer(10), static_cast<unsigned>(after))));
  }
  // Programmers' 3.2e5
  if (at + 1 < end && (text_[at] == 'e' || text_[at] == 'E')) {
    std::size_t next = at + 1;
    const bool minus = text_[next] == '-';
    if (text_[next] == '-' || text_[next] == '+') {
      ++next;
    }
    std::size_t stop = next;
    while (stop < end && is_digit(text_[stop])) {
      ++stop;
    }
    if (stop > next && !(stop < end && is_letter(text_[stop]))) {
      if (stop - next > 4) {
        throw Stop{"a power is too long"};
      }
      int exponent = 0;
      for (std::size_t i = next; i < stop; ++i) {
        exponent = exponent * 10 + (text_[i] - '0');
      }
      value = multiply(value, power(Rational(10), minus ? -exponent : exponent, budget_), budget_);
      literal = false;
      at = stop;
    }
  }
  Token t;
  t.type = TokenType::number;
  t.text = digits;
  t.value = std::move(value);
  t.literal = literal;
  t.space = std::exchange(space_, false);
  if (out_.size() >= kMostTokens) {
    throw Stop{"too many symbols"};
  }
  out_.push_back(std::move(t));
  return at;
}

Rational Lexer::exact(const std::string& digits, std::size_t after) {
  const std::int64_t limbs = 1 + static_cast<std::int64_t>(digits.size()) / 19;
  budget_.spend(limbs * limbs / 8 + (after > 0 ? limbs * limbs : 0));
  const Integer value = to_integer(digits);
  if (after == 0) {
    return Rational(value);
  }
  return Rational(value, boost::multiprecision::pow(Integer(10), static_cast<unsigned>(after)));
}

Integer Lexer::to_integer(const std::string& digits) {
  const std::size_t first = digits.find_first_not_of('0');  // a leading 0 would mean octal
  return Integer(first == std::string::npos ? std::string("0") : digits.substr(first));
}

}  // namespace minirl::rl::verifier
