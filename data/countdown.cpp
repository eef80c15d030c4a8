#include "data/countdown.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace minirl::data {
namespace {

constexpr std::size_t kLongestExpression = 256;  // bounds the depth of the parser

// numerator / denominator in lowest terms, denominator > 0.
struct Ratio {
  Index n = 0, d = 1;
};

std::optional<Ratio> combine(char op, Ratio a, Ratio b) {
  Ratio out;
  Index left = 0;
  Index right = 0;
  bool overflow = false;
  if (op == '/') {
    if (b.n == 0) {
      return std::nullopt;
    }
    std::swap(b.n, b.d);
    if (b.d < 0) {
      b.n = -b.n, b.d = -b.d;
    }
  }
  if (op == '*' || op == '/') {
    overflow |= __builtin_mul_overflow(a.n, b.n, &out.n);
  } else {
    overflow |= __builtin_mul_overflow(a.n, b.d, &left);
    overflow |= __builtin_mul_overflow(b.n, a.d, &right);
    overflow |= op == '+' ? __builtin_add_overflow(left, right, &out.n)
                          : __builtin_sub_overflow(left, right, &out.n);
  }
  overflow |= __builtin_mul_overflow(a.d, b.d, &out.d);
  if (overflow || out.n == std::numeric_limits<Index>::min()) {
    return std::nullopt;
  }
  const Index common = std::gcd(out.n, out.d);
  if (common > 1) {
    out.n /= common, out.d /= common;
  }
  return out;
}

// expression = term (('+' | '-') term)*;  term = factor (('*' | '/') factor)*;  factor = number |
// '(' expression ')'
class Parser {
 public:
  Parser(std::string_view text, std::vector<Index> numbers)
      : text_(text), unused_(std::move(numbers)) {}

  std::optional<Ratio> parse() {
    auto value = expression();
    if (value && next() != '\0') {
      return refuse("it is not an expression of numbers, + - * / and parentheses");
    }
    return value;
  }
  const std::string& reason() const { return reason_; }

 private:
  std::nullopt_t refuse(std::string why) {
    if (reason_.empty()) {
      reason_ = std::move(why);
    }
    return std::nullopt;
  }
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
    return at_ < text_.size() ? (text_[at_] == '\0' ? '?' : text_[at_]) : '\0';
  }
  std::optional<Ratio> chain(char low, char high, std::optional<Ratio> (Parser::*part)()) {
    auto value = (this->*part)();
    while (value && (next() == low || next() == high)) {
      const char op = text_[at_++];
      const auto right = (this->*part)();
      if (!right) {
        return std::nullopt;
      }
      value = combine(op, *value, *right);
      if (!value) {
        return refuse(op == '/' ? "it divides by zero" : "its value is too large");
      }
    }
    return value;
  }
  std::optional<Ratio> expression() { return chain('+', '-', &Parser::term); }
  std::optional<Ratio> term() { return chain('*', '/', &Parser::factor); }
  std::optional<Ratio> factor() {
    if (next() == '(') {
      ++at_;
      auto value = expression();
      if (!value) {
        return value;
      }
      if (next() != ')') {
        return refuse("a parenthesis is not closed");
      }
      ++at_;
      return value;
    }
    const char* begin = text_.data() + at_;
    Index n = 0;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), n);
    if (*begin == '-' || end == begin || error == std::errc::invalid_argument) {
      return refuse("it is not an expression of numbers, + - * / and parentheses");
    }
    const auto found = std::find(unused_.begin(), unused_.end(), n);
    if (error != std::errc() || found == unused_.end()) {
      return refuse(fmt::format("{} is not among the given numbers, or is used twice",
                                std::string_view(begin, static_cast<std::size_t>(end - begin))));
    }
    unused_.erase(found);
    at_ += static_cast<std::size_t>(end - begin);
    return Ratio{n, 1};
  }

  std::string_view text_;
  std::vector<Index> unused_;
  std::size_t at_ = 0;
  std::string reason_;
};

}  // namespace

std::string countdown_answer(const CountdownGoal& goal) {
  std::string out = fmt::format("{} from", goal.target);
  for (const Index n : goal.numbers) {
    out += fmt::format(" {}", n);
  }
  return out;
}

CountdownGoal parse_countdown_answer(std::string_view answer) {
  const auto broken = [&] {
    fail(Exit::data, fmt::format("'{}' is not a countdown answer", answer),
         "the form is \"64 from 3 5 8\"");
  };
  const auto number = [&](std::string_view text) {
    Index n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < 0) {
      broken();
    }
    return n;
  };
  constexpr std::string_view kFrom = " from ";
  const auto at = answer.find(kFrom);
  if (at == std::string_view::npos) {
    broken();
  }
  CountdownGoal goal;
  goal.target = number(answer.substr(0, at));
  std::string_view rest = answer.substr(at + kFrom.size());
  while (true) {
    const auto space = rest.find(' ');
    goal.numbers.push_back(number(rest.substr(0, space)));
    if (space == std::string_view::npos) {
      return goal;
    }
    rest.remove_prefix(space + 1);
  }
}

CountdownVerdict check_countdown(const CountdownGoal& goal, std::string_view expression) {
  if (expression.size() > kLongestExpression) {
    return {false, "the expression is too long"};
  }
  // A terminator of its own lets the parser look at the byte after the last one.
  const std::string text(expression);
  Parser parser(text, goal.numbers);
  const auto value = parser.parse();
  if (!value) {
    return {false, parser.reason()};
  }
  if (value->d != 1 || value->n != goal.target) {
    return {false, value->d == 1
                       ? fmt::format("it is {}, not {}", value->n, goal.target)
                       : fmt::format("it is {}/{}, not {}", value->n, value->d, goal.target)};
  }
  return {true, ""};
}

}  // namespace minirl::data
