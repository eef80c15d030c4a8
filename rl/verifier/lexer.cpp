#include "rl/verifier/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rl/verifier/unicode.h"
#include "rl/verifier/units.h"

namespace minirl::rl::verifier {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

template <std::size_t N>
bool any_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

constexpr std::array<std::string_view, 44> kSkipped{
    "left",         "right",     "big",         "Big",      "bigg",       "Bigg",         "bigl",
    "bigr",         "Bigl",      "Bigr",        "biggl",    "biggr",      "Biggl",        "Biggr",
    "displaystyle", "textstyle", "scriptstyle", "limits",   "large",      "Large",        "LARGE",
    "huge",         "Huge",      "small",       "tiny",     "normalsize", "quad",         "qquad",
    "bf",           "rm",        "it",          "boldmath", "middle",     "nonumber",     "notag",
    "hspace",       "hfill",     "thinspace",   "enspace",  "space",      "negthinspace", "strut",
    "relax",        "mathstrut"};
constexpr std::array<std::string_view, 14> kText{
    "text",   "textbf", "textrm", "textit", "textnormal", "mbox",   "textsf",
    "texttt", "emph",   "hbox",   "textsc", "textup",     "textmd", "underline"};
constexpr std::array<std::string_view, 13> kFont{
    "mathbf", "mathrm",       "mathit", "mathsf", "mathtt",  "mathnormal", "boldsymbol",
    "bm",     "operatorname", "boxed",  "fbox",   "mathcal", "pmb"};
constexpr std::array<std::string_view, 50> kFunctions{
    "sin",      "cos",   "tan",  "cot",  "sec",   "csc",   "arcsin", "arccos", "arctan", "asin",
    "acos",     "atan",  "sinh", "cosh", "tanh",  "log",   "ln",     "lg",     "exp",    "sqrt",
    "cbrt",     "pi",    "max",  "min",  "gcd",   "lcm",   "abs",    "floor",  "ceil",   "infty",
    "infinity", "inf",   "oo",   "frac", "theta", "alpha", "beta",   "gamma",  "lambda", "phi",
    "omega",    "sigma", "mu",   "and",  "or",    "in",    "union",  "cup",    "binom",  "arccot"};

class Lexer {
 public:
  Lexer(std::string_view text, const LexOptions& options, Budget& budget)
      : text_(text), options_(options), budget_(budget) {}

  std::vector<Token> run() {
    range(0, text_.size(), 0);
    Token end;
    end.space = space_;
    out_.push_back(end);
    return std::move(out_);
  }

 private:
  void push(TokenType type, std::string text) {
    if (out_.size() >= kMostTokens) {
      throw Stop{"too many symbols"};
    }
    Token t;
    t.type = type;
    t.text = std::move(text);
    t.space = std::exchange(space_, false);
    out_.push_back(std::move(t));
  }
  void mark(std::string_view text) { push(TokenType::mark, std::string(text)); }

  std::size_t skip_spaces(std::size_t at, std::size_t end) const {
    while (at < end && is_space(text_[at])) {
      ++at;
    }
    return at;
  }

  /// The '}' of the '{' at `at`.
  std::size_t closing(std::size_t at, std::size_t end) {
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

  void range(std::size_t at, std::size_t end, int depth) {
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

  std::size_t other(std::size_t at, std::size_t end) {
    const std::string_view rest = text_.substr(at, end - at);
    for (const std::string_view two : {"<=", ">=", "!=", "==", "=<", "=>", "**", "->"}) {
      if (rest.starts_with(two)) {
        if (two == "->") {
          throw Stop{"an arrow"};
        }
        if (two == "!=" && at > 0 && is_digit(text_[at - 1])) {
          continue;
        }  // 5!=120
        mark(two == "==" ? "=" : two == "=<" ? "<=" : two == "=>" ? ">=" : two == "**" ? "^" : two);
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

  static std::size_t currency_symbol(std::string_view rest, std::string_view& symbol) {
    for (const std::string_view s : {"\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\xe2\x82\xb9"}) {
      if (rest.starts_with(s)) {
        symbol = s;
        return s.size();
      }
    }
    return 0;
  }

  /// What separates thousands at `at`: its length, 0 if nothing does.
  std::size_t separator(std::size_t at, std::size_t end) const {
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

  std::size_t number(std::size_t at, std::size_t end) {
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
    std::string repeating;
    if (at < end && text_[at] == '.' && !text_.substr(at).starts_with("..")) {
      literal = false;
      ++at;
      while (at < end && is_digit(text_[at])) {
        digits += text_[at++];
        ++after;
      }
      for (const std::string_view over :
           {"\\overline{", "\\bar{", "\\dot{", "\\overline ", "\\bar ", "\\overline", "\\dot"}) {
        if (!text_.substr(at, end - at).starts_with(over)) {
          continue;
        }
        std::size_t next = at + over.size();
        while (next < end && is_digit(text_[next]) && (over.back() == '{' || repeating.empty())) {
          repeating += text_[next++];
        }
        if (over.back() == '{' && next < end && text_[next] == '}') {
          ++next;
        }
        at = repeating.empty() ? at : next;
        break;
      }
    }
    if (digits.size() + repeating.size() > kMostDigits) {
      throw Stop{"a number is too long"};
    }
    Rational value = exact(digits, after);
    if (!repeating.empty()) {
      if (after + repeating.size() > 1000) {
        throw Stop{"a number is too long"};
      }
      const Integer nines =
          boost::multiprecision::pow(Integer(10), static_cast<unsigned>(repeating.size())) - 1;
      value += Rational(
          to_integer(repeating),
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
        value =
            multiply(value, power(Rational(10), minus ? -exponent : exponent, budget_), budget_);
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

  Rational exact(const std::string& digits, std::size_t after) {
    const std::int64_t limbs = 1 + static_cast<std::int64_t>(digits.size()) / 19;
    budget_.spend(limbs * limbs / 8 + (after > 0 ? limbs * limbs : 0));
    const Integer value = to_integer(digits);
    if (after == 0) {
      return Rational(value);
    }
    return Rational(value, boost::multiprecision::pow(Integer(10), static_cast<unsigned>(after)));
  }
  static Integer to_integer(const std::string& digits) {
    const std::size_t first = digits.find_first_not_of('0');  // a leading 0 would mean octal
    return Integer(first == std::string::npos ? std::string("0") : digits.substr(first));
  }

  std::size_t letters(std::size_t at, std::size_t end) {
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
    if (run == "x" && !out_.empty() && out_.back().type == TokenType::number &&
        text_.substr(skip_spaces(stop, end)).starts_with("10^")) {
      mark("*");  // 3.2 x 10^5
    } else if (small == "and" || small == "or") {
      push(TokenType::text, small);
    } else if (run.size() >= 2 && any_of(small, kFunctions) && (small == run || run.size() > 2) &&
               small != "in") {
      push(TokenType::command,
           small == "inf" || small == "infinity" || small == "oo" ? "infty" : small);
    } else if (run == "U" &&
               (space_ ||
                (!out_.empty() && (out_.back().text == ")" || out_.back().text == "]"))) &&
               !out_.empty() && (out_.back().text == ")" || out_.back().text == "]")) {
      push(TokenType::command, "cup");
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
  static bool is_word(std::string_view run) {
    bool rising = true;
    bool capitals = run.size() <= 6;
    for (std::size_t i = 0; i < run.size(); ++i) {
      rising = rising && (i == 0 || run[i] > run[i - 1]);
      capitals = capitals && run[i] >= 'A' && run[i] <= 'Z';
    }
    return !capitals && !(rising && run.size() <= 5 && run.back() - run.front() < 6) &&
           (run.size() >= 4 || run.find_first_of("aeiouAEIOUy") != std::string_view::npos);
  }

  std::size_t command(std::size_t at, std::size_t end, int depth) {
    if (at >= end) {
      return at;
    }
    if (!is_letter(text_[at])) {
      const char c = text_[at];
      if (c == '{') {
        ++sets_;
        mark("\\{");
      } else if (c == '}') {
        --sets_;
        mark("\\}");
      } else if (c == '$') {
        push(TokenType::text, "$");
      } else if (c == '%') {
        mark("%");
      } else if (c == '\\') {
        if (environments_ > 0) {
          mark("\\\\");
          if (at + 1 < end && text_[at + 1] == '[') {  // \\[4pt]
            const std::size_t close = text_.find("]", at);
            if (close < end && close - at < 12) {
              return close + 1;
            }
          }
        } else {
          space_ = true;
        }
      } else if (c == '|') {
        mark("|");
      } else if (c == '#' || c == '_') {
        throw Stop{"a character that is no part of an answer"};
      } else if (c != '(' && c != ')' && c != '[' && c != ']' && c != '&') {
        space_ = true;  // \, \! \; \: and the like
      } else if (c == '&') {
        throw Stop{"a character that is no part of an answer"};
      }
      return at + 1;
    }
    std::size_t stop = at;
    while (stop < end && is_letter(text_[stop])) {
      ++stop;
    }
    std::string name(text_.substr(at, stop - at));
    if (name == "left" || name == "right" || name == "middle") {
      const std::size_t next = skip_spaces(stop, end);
      if (next < end && text_[next] == '.') {
        return next + 1;
      }
      if (next < end && text_[next] == '|') {
        mark(name == "left" ? "lvert" : name == "right" ? "rvert" : "|");
        return next + 1;
      }
      space_ = true;
      return stop;
    }
    if (name == "hspace" || name == "phantom" || name == "hphantom" || name == "vphantom") {
      const std::size_t next = skip_spaces(stop, end);
      return next < end && text_[next] == '{' ? closing(next, end) + 1 : stop;
    }
    if (any_of(name, kSkipped)) {
      space_ = true;
      return stop;
    }
    const bool is_text = any_of(name, kText);
    if (is_text || any_of(name, kFont)) {
      std::size_t next = skip_spaces(stop, end);
      if (next < end && text_[next] == '*') {
        ++next;
      }
      if (next >= end || text_[next] != '{') {
        return stop;
      }
      const std::size_t close = closing(next, end);
      content(next + 1, close, depth, is_text, name);
      return close + 1;
    }
    if (name == "not") {
      const std::size_t next = skip_spaces(stop, end);
      if (next >= end || text_[next] != '=') {
        throw Stop{"an unknown command"};
      }
      mark("!=");
      return next + 1;
    }
    if (name == "color" || name == "textcolor" || name == "colorbox") {
      const std::size_t next = skip_spaces(stop, end);
      return next < end && text_[next] == '{' ? closing(next, end) + 1 : stop;
    }
    if (name == "begin" || name == "end") {
      const std::size_t next = skip_spaces(stop, end);
      if (next >= end || text_[next] != '{') {
        throw Stop{"an environment without a name"};
      }
      const std::size_t close = closing(next, end);
      std::size_t after = close + 1;
      const std::string environment(text_.substr(next + 1, close - next - 1));
      if (name == "begin" && (environment == "array" || environment == "tabular")) {
        after = skip_spaces(after, end);
        if (after < end && text_[after] == '{') {
          after = closing(after, end) + 1;
        }
      }
      if (environment.starts_with("align") || environment.starts_with("gather") ||
          environment.starts_with("equation") || environment == "split") {
        space_ = true;
        return after;
      }
      environments_ += name == "begin" ? 1 : -1;
      push(TokenType::command, std::string(name).append(":").append(environment));
      return after;
    }
    if (name == "def" || name == "newcommand" || name == "let" || name == "renewcommand" ||
        name == "input" || name == "include") {
      throw Stop{"a definition is no answer"};
    }
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 65> kSame{
        {{"langle", "("},
         {"rangle", ")"},
         {"cr", "\\\\"},
         {"dfrac", "frac"},
         {"tfrac", "frac"},
         {"cfrac", "frac"},
         {"sfrac", "frac"},
         {"nicefrac", "frac"},
         {"dbinom", "binom"},
         {"tbinom", "binom"},
         {"cdot", "*"},
         {"times", "*"},
         {"ast", "*"},
         {"div", "/"},
         {"le", "<="},
         {"leq", "<="},
         {"leqslant", "<="},
         {"leqq", "<="},
         {"ge", ">="},
         {"geq", ">="},
         {"geqslant", ">="},
         {"geqq", ">="},
         {"lt", "<"},
         {"gt", ">"},
         {"ne", "!="},
         {"neq", "!="},
         {"pm", "+-"},
         {"mp", "-+"},
         {"lbrace", "\\{"},
         {"rbrace", "\\}"},
         {"vert", "|"},
         {"lvert", "lvert"},
         {"rvert", "rvert"},
         {"mid", "mid"},
         {"colon", ":"},
         {"percent", "%"},
         {"degree", "deg"},
         {"degrees", "deg"},
         {"approx", "~"},
         {"in", "in"},
         {"lbrack", "["},
         {"rbrack", "]"},
         {"varnothing", "emptyset"},
         {"backslash", "setminus"},
         {"land", "wedge"},
         {"lor", "vee"},
         {"asin", "arcsin"},
         {"acos", "arccos"},
         {"atan", "arctan"},
         {"bigcup", "cup"},
         {"textdollar", "$"},
         {"dots", "ldots"},
         {"cdots", "ldots"},
         {"dotsc", "ldots"},
         {"varphi", "phi"},
         {"varepsilon", "epsilon"},
         {"vartheta", "theta"},
         {"widehat", "hat"},
         {"slash", "/"},
         {"union", "cup"},
         {"lparen", "("},
         {"rparen", ")"},
         {"euro", "\xe2\x82\xac"},
         {"pounds", "\xc2\xa3"},
         {"infin", "infty"}}};
    for (const auto& [from, to] : kSame) {
      if (name != from) {
        continue;
      }
      if (to == "$" || to == "\xe2\x82\xac" || to == "\xc2\xa3") {
        push(TokenType::text, std::string(to));
      } else if (!is_letter(to[0]) || to == "deg" || to == "lvert" || to == "rvert" ||
                 to == "mid" || to == "in") {
        mark(to);
      } else {
        push(TokenType::command, std::string(to));
      }
      return stop;
    }
    push(TokenType::command, std::move(name));
    return stop;
  }

  void content(std::size_t at, std::size_t end, int depth, bool is_text, const std::string& name) {
    const std::string_view inner = text_.substr(at, end - at);
    const bool spaces = inner.find_first_of(" ~") != std::string_view::npos;
    std::size_t letters_in = 0;
    bool digits_in = false;
    bool commands = false;
    for (const char c : inner) {
      letters_in += is_letter(c) ? 1 : 0;
      digits_in = digits_in || is_digit(c);
      commands = commands || c == '\\' || c == '$' || c == '{';
    }
    const std::string words = plain_words(inner);
    const bool measured =
        !out_.empty() && out_.back().type == TokenType::number && find_unit(words);  // 60 min
    if (name == "operatorname" ||
        (!measured && (name == "mathrm" || name == "text") && any_of(words, kFunctions) &&
         words.size() > 2 && words != "and")) {
      if (any_of(words, kFunctions)) {
        push(TokenType::command, words);
        return;
      }
    }
    const std::size_t word = words.find_first_not_of(", ;");
    const std::string join = word == std::string::npos ? "" : words.substr(word);
    if (is_text && (join == "and" || join == "or")) {
      push(TokenType::text, join);
      return;
    }
    const bool after_value =
        !out_.empty() &&
        (out_.back().type == TokenType::number || out_.back().text == "}" ||
         out_.back().text == ")" || out_.back().text == "/" || out_.back().text == "*" ||
         (out_.back().type == TokenType::letter && !is_text) ||
         out_.back().type == TokenType::text || out_.back().type == TokenType::command);
    if (letters_in == 0 || commands || name == "boxed" || name == "fbox") {
      space_ = space_ || spaces;
      mark("(");  // a group of its own
      ++brackets_;
      const int sets_before = sets_;
      range(at, end, depth + 1);
      sets_ = sets_before;
      --brackets_;
      mark(")");
      unwrap();
      return;
    }
    if (!is_text) {
      if (letters_in == inner.size() && ((after_value && find_unit(inner)) || inner.size() > 1)) {
        push(TokenType::text, std::string(inner));
        return;
      }
      if (parse_unit(inner) && inner.size() > 1) {
        push(TokenType::text, std::string(inner));
        return;
      }
      range(at, end, depth + 1);
      return;
    }
    if (letters_in == 1 && inner.size() <= 3 && !after_value) {  // \text{C}, \text{(C)}
      range(at, end, depth + 1);
      return;
    }
    if (only_single_letters(inner) && inner.find(',') != std::string_view::npos) {  // \text{A, C}
      range(at, end, depth + 1);
      return;
    }
    if (digits_in && !parse_unit(words)) {
      range(at, end, depth + 1);
      return;
    }
    std::string raw(inner);
    while (!raw.empty() && (is_space(raw.back()) || raw.back() == '.')) {
      raw.pop_back();
    }
    raw.erase(0, raw.find_first_not_of(" \n\t~"));
    push(TokenType::text, raw);
  }

  static bool only_single_letters(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      std::size_t stop = i;
      while (stop < text.size() && is_letter(text[stop])) {
        ++stop;
      }
      const std::string_view run = text.substr(i, stop - i);
      if (run.size() > 1 && run != "and" && run != "or") {
        return false;
      }
      i = stop + (stop == i ? 1 : 0);
    }
    return true;
  }

  /// "( one token )" that a font command made is that token.
  void unwrap() {
    const std::size_t n = out_.size();
    if (n >= 3 && out_[n - 3].text == "(" && out_[n - 3].type == TokenType::mark) {
      out_[n - 2].space = out_[n - 3].space;
      out_.pop_back();
      out_.erase(out_.end() - 2);
    } else if (n >= 2 && out_[n - 2].text == "(") {
      out_.resize(n - 2);
    }
  }

  std::string_view text_;
  LexOptions options_;
  Budget& budget_;
  std::vector<Token> out_;
  bool space_ = false;
  int environments_ = 0, braces_ = 0, brackets_ = 0, sets_ = 0;
};

}  // namespace

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
  while (rest.size() >= 3 && rest.front() == rest.back() &&
         (rest.front() == '`' || rest.front() == '"' || (rest.front() == '*' && rest[1] != '*'))) {
    rest = rest.substr(1, rest.size() - 2);
    trim();
  }
  while (rest.size() >= 4 && ((rest.starts_with("**") && rest.ends_with("**")) ||
                              (rest.starts_with("__") && rest.ends_with("__")))) {
    rest = rest.substr(2, rest.size() - 4);
    trim();
  }
  return Lexer(rest, options, budget).run();
}

}  // namespace minirl::rl::verifier
