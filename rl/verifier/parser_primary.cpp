// Names, brackets, groups and sets.
#include <array>
#include <optional>

#include "rl/verifier/parser_state.h"
#include "rl/verifier/word_list.h"

namespace minirl::rl::verifier {

/// {x} or one token: \frac12.
int Parser::argument() {
  if (is_mark("{")) {
    return primary();
  }
  if (token().type == TokenType::number && token().literal && token().text.size() > 1) {
    Token& t = tokens_[at_];
    const int digit = t.text[0] - '0';
    t.text.erase(0, 1);
    const std::size_t first = t.text.find_first_not_of('0');
    t.value =
        Rational(Integer(first == std::string::npos ? std::string("0") : t.text.substr(first)));
    split_ = true;
    return tree_.number(digit);
  }
  return primary();
}

std::string Parser::subscript() {
  std::string out;
  if (take("{")) {
    int open = 1;
    while (token().type != TokenType::end) {
      if (is_mark("{")) {
        ++open;
      }
      if (is_mark("}") && --open == 0) {
        break;
      }
      out += token().text;
      ++at_;
    }
    expect("}");
    return out;
  }
  if (token().type == TokenType::end) {
    unexpected();
  }
  out = token().text;
  ++at_;
  return out;
}

int Parser::symbol(std::string name) {
  bool plain = true;
  for (;;) {
    if (is_mark("_")) {
      ++at_;
      name.append("_").append(subscript());
      plain = false;
    } else if (is_mark("'")) {
      ++at_;
      name += "'";
      plain = false;
    } else if (is_mark("^") && (is_command("prime", 1) ||
                                (is_mark("{", 1) && is_command("prime", 2) && is_mark("}", 3)))) {
      at_ += is_mark("{", 1) ? 4 : 2;
      name += "'";
      plain = false;
    } else {
      break;
    }
  }
  if (plain && name == "infty") {
    name = "infinity";
  }
  return tree_.make(Kind::symbol, {}, std::move(name));
}

int Parser::primary() {
  const Deeper deeper(depth_);
  budget_.spend(2);
  const Token t = token();
  switch (t.type) {
    case TokenType::number:
      ++at_;
      return tree_.number(t.value);
    case TokenType::letter:
      ++at_;
      if (is_application(t.text)) {
        return application(t.text);
      }
      if (t.text == "C" && is_mark("_")) {
        if (const int chosen = combination(); chosen >= 0) {
          return chosen;
        }
      }
      return symbol(t.text);
    case TokenType::command:
      ++at_;
      return command(t.text);
    case TokenType::text:
      if (is_currency()) {
        currency_ = t.text;
        ++at_;
        return primary();
      }
      if (t.text.size() == 1) {  // \mathrm{s} where no unit can stand
        ++at_;
        return symbol(t.text);
      }
      unexpected();
    case TokenType::mark:
      break;
    default:
      unexpected();
  }
  if (t.text == "-" || t.text == "+") {
    ++at_;
    return t.text == "-" ? negative(primary()) : primary();
  }
  if (t.text == "(" || t.text == "[" || (t.text == "]" && french_ == 0)) {
    return bracket(t.text[0]);
  }
  if (t.text == "{") {
    return group();
  }
  if (t.text == "\\{") {
    return set();
  }
  if (t.text == "|" || t.text == "lvert") {
    ++at_;
    const int outer = std::exchange(bars_, t.text == "|" ? 1 : 0);
    const int inner = sum();
    bars_ = outer;
    if (!take(t.text == "|" ? "|" : "rvert")) {
      unexpected();
    }
    return tree_.make(Kind::call, {inner}, "abs");
  }
  unexpected();
}

/// f(2) is a value with a name, not two times f.
bool Parser::is_application(const std::string& letter) const {
  static constexpr std::array<std::string_view, 8> kNames{"f", "g", "h", "F", "G", "H", "P", "Q"};
  const std::size_t ahead = is_mark("-", 1) ? 2 : 1;
  return any_of(letter, kNames) && is_mark("(") && token(ahead).type == TokenType::number &&
         is_mark(")", ahead + 1);
}

int Parser::application(const std::string& letter) {
  const bool minus = is_mark("-", 1);
  const Rational value = token(minus ? 2 : 1).value;
  at_ += minus ? 4 : 3;
  if (bits(value) > 200) {
    throw Stop{"a function at too long a number"};
  }
  std::string name = letter + (minus ? "(-" : "(") + digits_of(numerator(value));
  if (!is_integer(value)) {
    name.append("/").append(digits_of(denominator(value)));
  }
  return symbol(name + ")");
}

/// C_5^2: choices of 2 out of 5; -1 where the numbers do not say so.
int Parser::combination() {
  std::size_t ahead = 1;
  std::array<int, 2> value{};
  for (int i = 0; i < 2; ++i) {
    const bool group = is_mark("{", ahead);
    const auto number = token(ahead + (group ? 1 : 0)).type == TokenType::number
                            ? small_integer(token(ahead + (group ? 1 : 0)).value)
                            : std::nullopt;
    if (!number) {
      return -1;
    }
    value[static_cast<std::size_t>(i)] = *number;
    ahead += group ? 3 : 1;
    if (i == 0 && !is_mark("^", ahead++)) {
      return -1;
    }
  }
  if (value[1] < 0 || value[1] > value[0]) {
    return -1;
  }
  at_ += ahead;
  const int n = tree_.number(value[0]);
  return tree_.make(Kind::call, {n, tree_.number(value[1])}, "binom");
}

int Parser::bracket(char open) {
  ++at_;
  const Inside inside(*this);
  french_ = open == ']' ? 1 : 0;
  if (open == '(' && is_mark(")")) {
    unexpected();
  }
  const int inner = items();
  char close = 0;
  if (is_mark(")") || is_mark("]") || (open != '(' && is_mark("["))) {
    close = token().text[0];
    ++at_;
  } else {
    unexpected();
  }
  if (tree_[inner].kind != Kind::list) {
    if (open == '(' && close == ')') {
      return inner;
    }
    if (tree_[inner].kind == Kind::matrix && open == '[' && close == ']') {
      return inner;
    }
  }
  Node n;
  n.kind = Kind::tuple;
  n.kids = tree_[inner].kind == Kind::list ? tree_[inner].kids : std::vector<int>{inner};
  n.open = open == ']' ? '(' : open;
  n.close = close == '[' ? ')' : close;
  return tree_.add(std::move(n));
}

int Parser::group() {
  ++at_;
  const Inside inside(*this);
  if (is_mark("}")) {
    unexpected();
  }
  int inner = items();
  if (is_command("choose") || is_command("over")) {
    const bool fraction = is_command("over");
    ++at_;
    const int below = items();
    inner = fraction ? quotient(inner, below) : tree_.make(Kind::call, {inner, below}, "binom");
  }
  expect("}");
  if (tree_[inner].kind == Kind::list) {
    return tree_.make(Kind::set, tree_[inner].kids);
  }
  return inner;
}

int Parser::set() {
  ++at_;
  const Inside inside(*this);
  if (take("\\}")) {
    return tree_.make(Kind::set, {});
  }
  in_set_ = 1;
  const int inner = items();
  if (is_mark(":") || is_mark("|") || is_mark("mid")) {
    ++at_;
    in_set_ = 0;
    const int condition = items();
    expect("\\}");
    return tree_.make(Kind::builder, {inner, condition});
  }
  expect("\\}");
  return tree_.make(Kind::set,
                    tree_[inner].kind == Kind::list ? tree_[inner].kids : std::vector<int>{inner});
}

}  // namespace minirl::rl::verifier
