#include "rl/verifier/lexer.h"

#include "rl/verifier/lexer_state.h"
#include "rl/verifier/unicode.h"
#include "rl/verifier/units.h"
#include "rl/verifier/word_list.h"

namespace minirl::rl::verifier {

std::vector<Token> Lexer::run() {
  range(0, text_.size(), 0);
  Token end;
  end.space = space_;
  out_.push_back(end);
  return std::move(out_);
}

void Lexer::push(TokenType type, std::string text) {
  if (out_.size() >= kMostTokens) {
    throw Stop{"too many symbols"};
  }
  Token t;
  t.type = type;
  t.text = std::move(text);
  t.space = std::exchange(space_, false);
  out_.push_back(std::move(t));
}

std::size_t Lexer::skip_spaces(std::size_t at, std::size_t end) const {
  while (at < end && is_space(text_[at])) {
    ++at;
  }
  return at;
}

/// The '}' of the '{' at `at`.
std::size_t Lexer::closing(std::size_t at, std::size_t end) {
  int depth = 0;
  for (std::size_t i = at; i < end; ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '{') {
      ++depth;
    } else if (text_[i] == '}' && --depth == 0) {
      budget_.spend(static_cast<std::int64_t>(i - at) / 16 + 1);
      return i;
    }
  }
  throw Stop{"braces do not balance"};
}

void Lexer::range(std::size_t at, std::size_t end, int depth) {
  if (depth > 24) {
    throw Stop{"text nests too deeply"};
  }
  while (at < end) {
    budget_.spend(1);
    const char c = text_[at];
    if (is_space(c) || c == '~') {
      space_ = true;
      ++at;
    } else if (c == '\\') {
      at = command(at + 1, end, depth);
    } else if (is_digit(c) || (c == '.' && at + 1 < end && is_digit(text_[at + 1]))) {
      at = number(at, end);
    } else if (is_letter(c)) {
      at = letters(at, end);
    } else {
      at = other(at, end);
    }
  }
}

std::size_t Lexer::other(std::size_t at, std::size_t end) {
  const std::string_view rest = text_.substr(at, end - at);
  if (rest.starts_with("...")) {
    push(TokenType::command, "ldots");
    return at + 3;
  }
  if (rest.starts_with("``") || (rest.starts_with("''") && !out_.empty() &&
                                 (out_.back().type == TokenType::word ||
                                  out_.back().type == TokenType::text))) {  // TeX's quotation marks
    space_ = true;
    return at + 2;
  }
  if (rest.starts_with("{:}")) {  // 12{:}00
    mark(":");
    return at + 3;
  }
  for (const std::string_view two : {"<=", ">=", "!=", "==", "=<", "=>", "**", "->", "<>", ":="}) {
    if (rest.starts_with(two)) {
      if (two == "->") {
        throw Stop{"an arrow"};
      }
      if (two == "!=" && at > 0 && is_digit(text_[at - 1])) {
        continue;
      }  // 5!=120
      mark(two == "==" || two == ":=" ? "="
           : two == "=<"              ? "<="
           : two == "=>"              ? ">="
           : two == "**"              ? "^"
           : two == "<>"              ? "!="
                                      : two);
      return at + 2;
    }
  }
  const char c = text_[at];
  if (c == '$') {
    space_ = true;
    return at + 1;
  }
  if (c == '&') {
    if (environments_ > 0) {
      mark("&");
    }
    return at + 1;
  }
  if (c == '{') {
    ++braces_;
  } else if (c == '}') {
    --braces_;
  } else if (c == '(' || c == '[') {
    ++brackets_;
  } else if (c == ')' || c == ']') {
    --brackets_;
  }
  if (std::string_view("+-*/^_(){}[]|,;:=<>!%'.").find(c) != std::string_view::npos) {
    if (c == '.' && at + 1 == end) {
      return at + 1;
    }  // the sentence ends
    mark(rest.substr(0, 1));
    return at + 1;
  }
  std::string_view symbol;
  const std::size_t size = currency_symbol(rest, symbol);
  if (size > 0) {
    push(TokenType::text, std::string(symbol));
    return at + size;
  }
  throw Stop{"a character that is no part of an answer"};
}

std::size_t Lexer::currency_symbol(std::string_view rest, std::string_view& symbol) {
  for (const std::string_view s :
       {"\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\xe2\x82\xb9", "\xc2\xa2"}) {
    if (rest.starts_with(s)) {
      symbol = s;
      return s.size();
    }
  }
  return 0;
}

std::size_t Lexer::letters(std::size_t at, std::size_t end) {
  std::size_t stop = at;
  while (stop < end && is_letter(text_[stop])) {
    ++stop;
  }
  const std::string run(text_.substr(at, stop - at));
  std::string small = run;
  for (char& c : small) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  const bool after_number = !out_.empty() && (out_.back().type == TokenType::number ||
                                              out_.back().text == "}" || out_.back().text == ")");
  const bool before_digit = stop < end && is_digit(text_[stop]);
  if (small == "x" && !out_.empty() && out_.back().type == TokenType::number &&
      text_.substr(skip_spaces(stop, end)).starts_with("10^")) {
    mark("*");  // 3.2 x 10^5
  } else if (small == "and" || small == "or") {
    push(TokenType::text, small);
  } else if (run.size() >= 2 && is_function_name(small) && (small == run || run.size() > 2) &&
             small != "in") {
    push(TokenType::command,
         small == "inf" || small == "infinity" || small == "oo" ? "infty" : small);
  } else if (run == "U" &&
             (space_ || (!out_.empty() && (out_.back().text == ")" || out_.back().text == "]"))) &&
             !out_.empty() && (out_.back().text == ")" || out_.back().text == "]")) {
    push(TokenType::command, "cup");
  } else if (small == "mod" && run.size() == 3) {
    push(TokenType::command, "mod");
  } else if (run == "USD" || run == "EUR" || run == "GBP") {
    push(TokenType::text, run == "USD" ? "$" : run == "EUR" ? "\xe2\x82\xac" : "\xc2\xa3");
  } else if (run == "to" || run == "of" || run == "is" || run == "if" ||
             (in_text_ && run.size() >= 2 && !before_digit && !only_choices(run))) {
    push(TokenType::word, run);
  } else if (run.size() >= 2 && after_number && find_unit(run)) {
    push(TokenType::text, run);
  } else if (run.size() >= 3 && !before_digit && is_word(run)) {
    push(TokenType::word, run);
  } else {
    for (const char c : run) {
      push(TokenType::letter, std::string(1, c));
    }
  }
  return stop;
}

/// Words, not products of symbols: abc and ABCD are products (letters in order, or capitals that
/// name points).
bool Lexer::is_word(std::string_view run) {
  bool rising = true;
  bool capitals = run.size() <= 6;
  for (std::size_t i = 0; i < run.size(); ++i) {
    rising = rising && (i == 0 || run[i] > run[i - 1]);
    capitals = capitals && run[i] >= 'A' && run[i] <= 'Z';
  }
  return !capitals && !(rising && run.size() <= 5 && run.back() - run.front() < 6) &&
         (run.size() >= 4 || run.find_first_of("aeiouAEIOUy") != std::string_view::npos);
}

/// Letters in front of choices, one after the other: AC.
bool Lexer::only_choices(std::string_view run) {
  return run.size() <= 4 &&
         std::all_of(run.begin(), run.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool is_function_name(std::string_view word) {
  static constexpr std::array<std::string_view, 51> kFunctions{
      "sin",   "cos",   "tan",    "cot",      "sec",    "csc",   "arcsin", "arccos", "arctan",
      "asin",  "acos",  "atan",   "sinh",     "cosh",   "tanh",  "log",    "ln",     "lg",
      "exp",   "sqrt",  "cbrt",   "pi",       "max",    "min",   "gcd",    "lcm",    "abs",
      "floor", "ceil",  "infty",  "infinity", "inf",    "oo",    "frac",   "theta",  "alpha",
      "beta",  "gamma", "lambda", "phi",      "omega",  "sigma", "mu",     "and",    "or",
      "in",    "union", "cup",    "binom",    "arccot", "mod"};

  return any_of(word, kFunctions);
}

std::string plain_words(std::string_view text) {
  std::string out;
  bool gap = false;
  for (const char c : text) {
    if (is_space(c) || c == '~' || c == '\\' || c == '{' || c == '}' || c == '$') {
      gap = true;
      continue;
    }
    if (gap && !out.empty()) {
      out += ' ';
    }
    gap = false;
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  while (!out.empty() && (out.back() == '.' || out.back() == ',' || out.back() == ' ')) {
    out.pop_back();
  }
  return out;
}

std::vector<Token> lex(std::string_view text, const LexOptions& options, Budget& budget) {
  if (text.size() > kLongestAnswer) {
    throw Stop{"the answer is too long"};
  }
  const std::string ascii = to_latex(text);
  budget.spend(static_cast<std::int64_t>(ascii.size()));
  // Markdown around the whole answer.
  std::string_view rest = ascii;
  const auto trim = [&rest] {
    while (!rest.empty() && is_space(rest.front())) {
      rest.remove_prefix(1);
    }
    while (!rest.empty() && is_space(rest.back())) {
      rest.remove_suffix(1);
    }
  };
  trim();
  for (bool more = true; more;) {
    more = false;
    const auto enclosed = [&rest](std::string_view by) {
      return rest.size() > 2 * by.size() && rest.starts_with(by) && rest.ends_with(by);
    };
    if (rest.size() > 3 && rest.ends_with(".") &&
        (rest.starts_with("**") || rest.starts_with("__"))) {
      rest.remove_suffix(1);  // **7**.
      more = true;
    }
    for (const std::string_view by : {"**", "__", "`", "\"", "*"}) {
      if (enclosed(by)) {
        rest = rest.substr(by.size(), rest.size() - 2 * by.size());
        trim();
        more = true;
        break;
      }
    }
  }
  return Lexer(rest, options, budget).run();
}

}  // namespace minirl::rl::verifier
