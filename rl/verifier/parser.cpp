#include "rl/verifier/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rl/verifier/units.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::array<std::string_view, 31> kFunctions{
    "sin",   "cos",  "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "sinh",
    "cosh",  "tanh", "log", "ln",  "lg",  "exp", "max",    "min",    "gcd",    "lcm",    "abs",
    "floor", "ceil", "sgn", "det", "deg", "Re",  "Im",     "arg",    "cbrt"};
constexpr std::array<std::string_view, 32> kSymbols{
    "pi",    "alpha", "beta",    "gamma",  "delta", "epsilon", "zeta",  "eta",
    "theta", "iota",  "kappa",   "lambda", "mu",    "nu",      "xi",    "rho",
    "sigma", "tau",   "upsilon", "phi",    "chi",   "psi",     "omega", "Gamma",
    "Delta", "Theta", "Lambda",  "Sigma",  "Phi",   "Omega",   "ell",   "ldots"};
constexpr std::array<std::string_view, 10> kAccents{
    "overline",       "bar", "vec",     "hat",    "tilde", "widetilde",
    "overrightarrow", "dot", "overarc", "widehat"};
constexpr std::array<std::string_view, 28> kDenials{
    "more",    "less",          "fewer",   "greater", "not",       "no",     "never",
    "except",  "wrong",         "neither", "nor",     "than",      "least",  "most",
    "about",   "approximately", "around",  "isn't",   "incorrect", "cannot", "false",
    "roughly", "nearly",        "almost",  "between", "maybe",     "over",   "mod"};

template <std::size_t N>
bool any_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, Tree& tree, Budget& budget)
      : tokens_(std::move(tokens)), tree_(tree), budget_(budget) {}

  int run() {
    collapse();
    while (is_mark("=") || is_mark(".")) {
      ++at_;
    }
    int root = items();
    if (is_command("over")) {
      ++at_;
      root = quotient(root, items());
    }
    while (is_mark(".") || is_mark(",")) {
      ++at_;
    }
    if (token().type != TokenType::end) {
      unexpected();
    }
    return root;
  }

 private:
  const Token& token(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool is_mark(std::string_view text, std::size_t ahead = 0) const {
    return token(ahead).type == TokenType::mark && token(ahead).text == text;
  }
  bool is_command(std::string_view text, std::size_t ahead = 0) const {
    return token(ahead).type == TokenType::command && token(ahead).text == text;
  }
  bool is_words(std::size_t ahead = 0) const {
    return token(ahead).type == TokenType::text || token(ahead).type == TokenType::word;
  }
  bool is_join(std::size_t ahead = 0) const {
    return token(ahead).type == TokenType::text &&
           (token(ahead).text == "and" || token(ahead).text == "or");
  }
  bool take(std::string_view text) {
    if (!is_mark(text)) {
      return false;
    }
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) {
      unexpected();
    }
  }
  [[noreturn]] void unexpected() const {
    throw Stop{token().type == TokenType::end ? "it ends too early"
                                              : "it is no mathematics that is understood"};
  }

  struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) {
      if (++depth_ > kDeepest) {
        throw Stop{"it nests too deeply"};
      }
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth_;
  };

  /// ((x)) and {{x}} are (x) and {x}: thousands of them are harmless.
  void collapse() {
    std::vector<std::size_t> match(tokens_.size(), 0);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].type != TokenType::mark) {
        continue;
      }
      const std::string& t = tokens_[i].text;
      if (t == "(" || t == "{") {
        open.push_back(i);
      } else if ((t == ")" || t == "}") && !open.empty()) {
        if (tokens_[open.back()].text == (t == ")" ? "(" : "{")) {
          match[open.back()] = i;
        }
        open.pop_back();
      }
    }
    std::vector<bool> drop(tokens_.size(), false);
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (match[i] > 0 && match[i + 1] > 0 && match[i + 1] + 1 == match[i] &&
          tokens_[i].text == tokens_[i + 1].text) {
        drop[i + 1] = drop[match[i + 1]] = true;
      }
    }
    std::vector<Token> kept;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!drop[i]) {
        kept.push_back(std::move(tokens_[i]));
      }
    }
    tokens_ = std::move(kept);
  }

  bool at_closer() const {
    if (token().type == TokenType::end) {
      return true;
    }
    if (token().type == TokenType::command) {
      return token().text.starts_with("end:") || token().text == "choose" || token().text == "over";
    }
    if (token().type != TokenType::mark) {
      return false;
    }
    const std::string& t = token().text;
    return t == ")" || t == "}" || t == "\\}" || (t == "]" && nested_ > 0) || t == "rvert" ||
           t == "&" || t == "\\\\" || (t == "|" && bars_ > 0) || (t == "mid") ||
           (in_set_ > 0 && (t == ":" || t == "|")) || (t == "[" && french_ > 0);
  }
  bool at_separator() const { return is_mark(",") || is_mark(";") || is_join(); }

  /// Items up to a closer: one alone, or a list.
  int items() {
    const Deeper deeper(depth_);
    std::vector<int> kids;
    bool either = false;
    kids.push_back(item());
    while (at_separator()) {
      while (at_separator()) {
        either = either || (is_join() && token().text == "or");
        ++at_;
      }
      if (at_closer() || is_mark(".")) {
        break;
      }
      kids.push_back(item());
    }
    if (kids.size() == 1) {
      return kids[0];
    }
    return tree_.make(Kind::list, std::move(kids), either ? "or" : "");
  }

  /// One item: mathematics with words around it.
  int item() {
    std::vector<int> pieces;
    std::string before;
    std::string after;
    std::string currency;
    std::swap(currency, currency_);
    while (!at_closer() && !at_separator()) {
      budget_.spend(1);
      if (is_mark(".") || (is_mark(":") && pieces.empty())) {
        ++at_;
        continue;
      }
      if (is_words() && !is_currency()) {
        std::string words = unit_words();
        if (is_relation()) {
          pieces.push_back(relation(tree_.make(Kind::text, {}, plain_words(words))));
          continue;
        }
        std::string& side = pieces.empty() ? before : after;
        side += (side.empty() ? "" : " ") + words;
        continue;
      }
      if (is_currency() && !pieces.empty()) {
        after.append(" ").append(token().text);
        ++at_;
        continue;
      }
      if (!pieces.empty() && after.empty()) {
        unexpected();
      }
      pieces.push_back(relation(-1));
    }
    std::swap(currency, currency_);  // ours in `currency`
    if (pieces.empty()) {
      if (before.empty()) {
        unexpected();
      }
      return tree_.make(Kind::text, {}, plain_words(before));
    }
    const std::string all = plain_words(std::string(before).append(" ").append(after));
    if (pieces.size() > 1 || denies(all)) {
      return tree_.make(Kind::prose, std::move(pieces), all);
    }
    int value = pieces[0];
    if (!currency.empty()) {
      return tree_.make(Kind::quantity, {value}, currency);
    }
    while (!after.empty() && after.front() == ' ') {
      after.erase(0, 1);
    }
    const std::string small = plain_words(after);
    if (small == "degrees" || small == "degree" || small == "deg") {
      return tree_.make(Kind::degrees, {value});
    }
    if (small == "percent" || small == "percents" || small == "per cent") {
      return percent(value);
    }
    if (small == "pm" || small == "p.m" || small == "am" || small == "a.m") {
      return tree_.make(Kind::quantity, {value}, small[0] == 'p' ? "pm" : "am");
    }
    if (!after.empty() && parse_unit(after)) {
      return tree_.make(Kind::quantity, {value}, after);
    }
    if (!small.empty() && parse_unit(small)) {
      return tree_.make(Kind::quantity, {value}, small);
    }
    const std::size_t gap = after.find(' ');  // "35 cm long"
    if (gap != std::string::npos && parse_unit(after.substr(0, gap))) {
      return tree_.make(Kind::quantity, {value}, after.substr(0, gap));
    }
    return value;
  }

  static bool denies(const std::string& words) {
    std::size_t at = 0;
    while (at < words.size()) {
      std::size_t end = words.find(' ', at);
      if (end == std::string::npos) {
        end = words.size();
      }
      if (any_of(std::string_view(words).substr(at, end - at), kDenials)) {
        return true;
      }
      at = end + 1;
    }
    return words.find("n't") != std::string::npos;
  }

  bool is_currency(std::size_t ahead = 0) const {
    if (token(ahead).type != TokenType::text) {
      return false;
    }
    const std::string& t = token(ahead).text;
    return t == "$" || t == "\xe2\x82\xac" || t == "\xc2\xa3" || t == "\xc2\xa5" ||
           t == "\xe2\x82\xb9";
  }

  /// \text{km}/\text{h}, \text{cm}^2
  std::string unit_words() {
    std::string out = token().text;
    ++at_;
    for (;;) {
      if (is_mark("^") && token(1).type == TokenType::number) {
        out.append("^").append(token(1).text);
        at_ += 2;
      } else if (is_mark("^") && is_mark("{", 1) && token(2).type == TokenType::number &&
                 is_mark("}", 3)) {
        out.append("^").append(token(2).text);
        at_ += 4;
      } else if (is_mark("^") && is_mark("{", 1) && is_mark("-", 2) &&
                 token(3).type == TokenType::number && is_mark("}", 4)) {
        out.append("^-").append(token(3).text);
        at_ += 5;
      } else if ((is_mark("/") || is_mark("*")) && is_words(1)) {
        out += token().text + token(1).text;
        at_ += 2;
      } else if (is_words() && !is_join() && !is_currency()) {
        out.append(" ").append(token().text);
        ++at_;
      } else {
        return out;
      }
    }
  }

  bool is_relation() const {
    if (token().type != TokenType::mark) {
      return false;
    }
    const std::string& t = token().text;
    return t == "=" || t == "<" || t == "<=" || t == ">" || t == ">=" || t == "!=" || t == "in" ||
           t == "~";
  }

  int relation(int first) {
    Node node;
    node.kind = Kind::relation;
    node.kids.push_back(first >= 0 ? first : operand());
    while (is_relation()) {
      node.ops.push_back(token().text);
      ++at_;
      if (is_mark("=") && node.ops.back() == "=") {
        ++at_;
      }
      if (is_words() && !is_currency()) {
        node.kids.push_back(tree_.make(Kind::text, {}, plain_words(unit_words())));
      } else {
        node.kids.push_back(operand());
      }
    }
    if (node.kids.size() == 1) {
      return node.kids[0];
    }
    return tree_.add(std::move(node));
  }

  int operand() {
    int left = ratio();
    while (is_command("cup") || is_command("cap") || is_command("setminus")) {
      const std::string how = token().text;
      ++at_;
      const int right = ratio();
      left = tree_.make(Kind::merge, {left, right}, how);
    }
    return left;
  }

  int ratio() {
    const int left = sum();
    if (!is_mark(":") || in_set_ > 0) {
      return left;
    }
    std::vector<int> kids{left};
    std::string text = spelling();
    while (take(":")) {
      text.append(":").append(spelling_ahead());
      kids.push_back(sum());
    }
    return tree_.make(Kind::ratio, std::move(kids), text);
  }
  std::string spelling() const {
    return at_ > 0 && tokens_[at_ - 1].type == TokenType::number ? tokens_[at_ - 1].text : "?";
  }
  std::string spelling_ahead() const {
    return token().type == TokenType::number ? token().text : "?";
  }

  int negative(int node) {
    if (tree_[node].kind == Kind::number) {
      return tree_.number(-tree_[node].value);
    }
    return tree_.make(Kind::product, {tree_.number(-1), node});
  }

  int sum() {
    const Deeper deeper(depth_);
    std::vector<int> terms;
    bool minus = false;
    std::string both;
    if (is_mark("+-") || is_mark("-+")) {
      both = token().text;
      ++at_;
    } else if (is_mark("+") && is_mark("/", 1) && is_mark("-", 2)) {  // +/-
      both = "+-";
      at_ += 3;
    } else {
      while (is_mark("+") || is_mark("-")) {
        minus = minus != is_mark("-");
        ++at_;
      }
    }
    for (;;) {
      int value = term();
      if (minus) {
        value = negative(value);
      }
      if (!both.empty()) {
        value = tree_.make(Kind::sign, {value}, both);
      }
      terms.push_back(value);
      minus = false;
      both.clear();
      if (is_mark("+-") || is_mark("-+")) {
        both = token().text;
        ++at_;
      } else if (is_mark("+") && (is_mark("/", 1) && is_mark("-", 2))) {  // +/-
        both = "+-";
        at_ += 3;
      } else if (is_mark("+") || is_mark("-")) {
        while (is_mark("+") || is_mark("-")) {
          minus = minus != is_mark("-");
          ++at_;
        }
      } else {
        break;
      }
    }
    if (terms.size() == 1) {
      return terms[0];
    }
    if (terms.size() == 2 && is_set(terms[0]) && tree_[terms[1]].kind == Kind::product &&
        tree_[terms[1]].kids.size() == 2 && is_set(tree_[terms[1]].kids[1])) {
      const int without = tree_[terms[1]].kids[1];  // R - {0}
      return tree_.make(Kind::merge, {terms[0], without}, "setminus");
    }
    return tree_.make(Kind::sum, std::move(terms));
  }

  bool is_set(int node) const {
    const Node& n = tree_[node];
    return n.kind == Kind::set || n.kind == Kind::tuple || n.kind == Kind::merge ||
           (n.kind == Kind::symbol && n.text == "reals");
  }

  bool starts_factor() const {
    const Token& t = token();
    if (t.type == TokenType::number || t.type == TokenType::letter) {
      return true;
    }
    if (t.type == TokenType::command) {
      return !(t.text == "cup" || t.text == "cap" || t.text == "setminus" ||
               t.text.starts_with("end:") || t.text == "choose" || t.text == "pmod" ||
               t.text == "bmod" || t.text == "over" || t.text == "rfloor" || t.text == "rceil");
    }
    if (t.type == TokenType::mark) {
      return t.text == "(" || t.text == "{" || t.text == "lvert" ||
             (t.text == "|" && bars_ == 0 && in_set_ == 0);
    }
    return false;
  }

  int quotient(int above, int below) {
    if (tree_[above].kind == Kind::number && tree_[below].kind == Kind::number &&
        tree_[below].value != 0) {
      const Rational inverse = power(tree_[below].value, -1, budget_);
      return tree_.number(multiply(tree_[above].value, inverse, budget_));
    }
    return tree_.make(Kind::product, {above, tree_.make(Kind::power, {below, tree_.number(-1)})});
  }

  bool proper(int node) const {
    return tree_[node].kind == Kind::number && tree_[node].value > 0 && tree_[node].value < 1;
  }

  int term() {
    std::vector<int> factors;
    const bool literal = token().type == TokenType::number && token().literal;
    const std::size_t begin = at_;
    factors.push_back(factor());
    bool mixed = literal && at_ == begin + 1;  // a bare integer: 2 2/3, 2\frac{2}{3}
    while (true) {
      budget_.spend(1);
      if (take("*")) {
        factors.push_back(signed_factor());
      } else if (take("/")) {
        const int below = signed_factor();
        const int above = factors.size() == 1 ? factors[0] : tree_.make(Kind::product, factors);
        factors = {quotient(above, below)};
      } else if (take("%")) {  // of the whole term: 12\frac{1}{2}\%
        factors = {percent(factors.size() == 1 ? factors[0] : tree_.make(Kind::product, factors))};
      } else if (mixed && token().type == TokenType::number && token().literal && token().space &&
                 is_mark("/", 1) && token(2).type == TokenType::number && token(2).literal &&
                 token(2).value > token().value) {
        const Rational part = multiply(token().value, power(token(2).value, -1, budget_), budget_);
        at_ += 3;
        factors = {tree_.number(add(tree_[factors[0]].value, part, budget_))};
      } else if (starts_factor()) {
        if (token().type == TokenType::number && at_ > 0 &&
            tokens_[at_ - 1].type == TokenType::number &&
            tokens_[at_ - 1].text.size() + token().text.size() > 0 && !split_) {
          unexpected();  // "2 3" is no product
        }
        split_ = false;
        const bool fraction = is_command("frac");
        const int next = factor();
        if (mixed && fraction && proper(next)) {
          factors = {tree_.number(add(tree_[factors[0]].value, tree_[next].value, budget_))};
        } else {
          factors.push_back(next);
        }
      } else {
        break;
      }
      mixed = false;
    }
    if (factors.size() == 1) {
      return factors[0];
    }
    return tree_.make(Kind::product, std::move(factors));
  }

  int signed_factor() {
    bool minus = false;
    while (is_mark("-") || is_mark("+")) {
      minus = minus != is_mark("-");
      ++at_;
    }
    const int value = factor();
    return minus ? negative(value) : value;
  }

  int percent(int value) {
    if (tree_[value].kind == Kind::number) {
      return tree_.number(tree_[value].value / 100);
    }
    return tree_.make(Kind::product, {value, tree_.number(Rational(1) / 100)});
  }

  int factor() {
    const Deeper deeper(depth_);
    int base = primary();
    for (;;) {
      if (is_mark("^")) {
        ++at_;
        base = exponent(base);
      } else if (is_mark("!") || (is_mark("!="))) {
        if (is_mark("!=")) {
          break;
        }
        ++at_;
        base = tree_.make(Kind::call, {base}, "factorial");
      } else if (take("deg")) {
        base = tree_.make(Kind::degrees, {base});
      } else if (is_mark("_") && at_ > 0 &&
                 (tokens_[at_ - 1].type == TokenType::number || is_digits_in_parentheses())) {
        base = based();
      } else {
        return base;
      }
    }
    return base;
  }

  bool is_digits_in_parentheses() const {
    return at_ >= 3 && (tokens_[at_ - 1].text == ")" || tokens_[at_ - 1].text == "}") &&
           tokens_[at_ - 2].type == TokenType::number &&
           (tokens_[at_ - 3].text == "(" || tokens_[at_ - 3].text == "{");
  }

  int based() {
    const std::string digits =
        tokens_[at_ - 1].type == TokenType::number ? tokens_[at_ - 1].text : tokens_[at_ - 2].text;
    ++at_;
    const bool group = take("{");
    Rational base = 0;
    if (token().type == TokenType::number) {
      base = token().value;
    } else if (is_words()) {
      static constexpr std::array<std::string_view, 17> kNames{
          "zero", "one", "two",    "three",  "four",     "five",     "six",     "seven",  "eight",
          "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"};
      const auto found = std::find(kNames.begin(), kNames.end(), plain_words(token().text));
      if (found == kNames.end()) {
        unexpected();
      }
      base = static_cast<int>(found - kNames.begin());
    } else {
      unexpected();
    }
    ++at_;
    if (group) {
      expect("}");
    }
    Node n;
    n.kind = Kind::based;
    const std::size_t first = digits.find_first_not_of('0');
    n.text = first == std::string::npos ? "0" : digits.substr(first);
    n.value = base;
    return tree_.add(std::move(n));
  }

  int exponent(int base) {
    const bool group = is_mark("{");
    if (is_command("circ", group ? 1 : 0) && (!group || is_mark("}", 2))) {
      at_ += group ? 3 : 1;
      if (token().type == TokenType::letter && (token().text == "C" || token().text == "F")) {
        ++at_;
      }
      return tree_.make(Kind::degrees, {base});
    }
    if (!group && token().type == TokenType::letter && token().text == "o" &&
        tree_[base].kind == Kind::number) {  // 90^o
      ++at_;
      return tree_.make(Kind::degrees, {base});
    }
    if (is_mark("deg", group ? 1 : 0)) {
      at_ += group ? 3 : 1;
      return tree_.make(Kind::degrees, {base});
    }
    int power_node = -1;
    if (group || is_mark("(")) {
      power_node = primary();
    } else if (is_mark("-") || is_mark("+")) {
      const bool minus = is_mark("-");
      ++at_;
      power_node = primary();
      if (minus) {
        power_node = negative(power_node);
      }
    } else {
      power_node = primary();
    }
    if (is_mark("^")) {  // 2^3^4 = 2^(3^4)
      const Deeper deeper(depth_);
      ++at_;
      power_node = exponent(power_node);
    }
    return tree_.make(Kind::power, {base, power_node});
  }

  /// {x} or one token: \frac12.
  int argument() {
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

  std::string subscript() {
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

  int symbol(std::string name) {
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

  int primary() {
    const Deeper deeper(depth_);
    budget_.spend(2);
    const Token t = token();
    switch (t.type) {
      case TokenType::number:
        ++at_;
        return tree_.number(t.value);
      case TokenType::letter:
        ++at_;
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

  struct Inside {  // what holds outside a bracket does not hold inside
    explicit Inside(Parser& p)
        : p_(p),
          nested_(std::exchange(p.nested_, 1)),
          set_(std::exchange(p.in_set_, 0)),
          bars_(std::exchange(p.bars_, 0)),
          french_(std::exchange(p.french_, 0)) {}
    ~Inside() {
      p_.nested_ = nested_;
      p_.in_set_ = set_;
      p_.bars_ = bars_;
      p_.french_ = french_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Parser& p_;
    int nested_, set_, bars_, french_;
  };

  int bracket(char open) {
    ++at_;
    const Inside inside(*this);
    french_ = open == ']' ? 1 : 0;
    if (open == '(' && is_mark(")")) {
      unexpected();
    }
    const int inner = items();
    char close = 0;
    if (is_mark(")") || is_mark("]") || (french_ > 0 && is_mark("["))) {
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

  int group() {
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

  int set() {
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
    return tree_.make(
        Kind::set, tree_[inner].kind == Kind::list ? tree_[inner].kids : std::vector<int>{inner});
  }

  int command(const std::string& name) {
    if (name == "frac") {
      const int above = argument();
      const int below = argument();
      return quotient(above, below);
    }
    if (name == "sqrt") {
      int index = -1;
      if (take("[")) {
        index = sum();
        expect("]");
      }
      const int inner = argument();
      if (index < 0) {
        return tree_.make(Kind::call, {inner}, "sqrt");
      }
      return tree_.make(Kind::call, {inner, index}, "root");
    }
    if (name == "binom") {
      if (take("(")) {
        const int above = sum();
        expect(",");
        const int below = sum();
        expect(")");
        return tree_.make(Kind::call, {above, below}, "binom");
      }
      const int above = argument();
      return tree_.make(Kind::call, {above, argument()}, "binom");
    }
    if (name == "infty") {
      return symbol("infinity");
    }
    if (name == "emptyset") {
      return tree_.make(Kind::set, {});
    }
    if (name == "mathbb") {
      const bool in_group = take("{");
      const std::string letter = token().text;
      ++at_;
      if (in_group) {
        expect("}");
      }
      static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSets{
          {{"R", "reals"},
           {"Z", "integers"},
           {"N", "naturals"},
           {"Q", "rationals"},
           {"C", "complexes"}}};
      for (const auto& [from, to] : kSets) {
        if (letter == from) {
          return symbol(std::string(to));
        }
      }
      unexpected();
    }
    if (name.starts_with("begin:")) {
      return matrix(name.substr(6));
    }
    if (name == "lfloor" || name == "lceil") {
      const Inside inside(*this);
      const int inner = sum();
      if (!is_command(name == "lfloor" ? "rfloor" : "rceil")) {
        unexpected();
      }
      ++at_;
      return tree_.make(Kind::call, {inner}, name == "lfloor" ? "floor" : "ceil");
    }
    if (any_of(name, kAccents)) {
      const int inner = argument();
      if (tree_[inner].kind == Kind::number) {
        unexpected();
      }
      return tree_.make(Kind::call, {inner}, name);
    }
    if (name == "angle" || name == "triangle" || name == "measuredangle" || name == "circ" ||
        name == "hbar") {
      return symbol(name);
    }
    if (any_of(name, kFunctions)) {
      return function(name);
    }
    if (any_of(name, kSymbols)) {
      return symbol(name);
    }
    if (name == "prime") {
      return symbol(name);
    }
    throw Stop{"an unknown command"};
  }

  int function(std::string name) {
    int power_node = -1;
    int base = -1;
    while (is_mark("^") || is_mark("_")) {
      const bool up = is_mark("^");
      ++at_;
      const int inner = is_mark("{") || is_mark("(") ? primary() : argument();
      (up ? power_node : base) = inner;
    }
    if (power_node >= 0 && tree_[power_node].kind == Kind::number &&
        tree_[power_node].value == -1 &&
        (name == "sin" || name == "cos" || name == "tan" || name == "cot")) {
      name.insert(0, "arc");
      power_node = -1;
    }
    std::vector<int> arguments;
    if (is_mark("(") || is_mark("{") || is_mark("[")) {
      const int inner = primary();
      if (tree_[inner].kind == Kind::tuple || tree_[inner].kind == Kind::set) {
        arguments = tree_[inner].kids;
      } else {
        arguments = {inner};
      }
    } else {
      std::vector<int> factors;
      bool minus = take("-");
      while (starts_factor() &&
             !(token().type == TokenType::command && any_of(token().text, kFunctions) &&
               !factors.empty()) &&
             !(is_mark("(") && !factors.empty())) {
        factors.push_back(factor());
        if (is_mark("/") &&
            (token(1).type == TokenType::number || token(1).type == TokenType::letter)) {
          ++at_;
          const int below = factor();
          factors = {quotient(factors.size() == 1 ? factors[0] : tree_.make(Kind::product, factors),
                              below)};
        }
      }
      if (factors.empty()) {
        unexpected();
      }
      int inner = factors.size() == 1 ? factors[0] : tree_.make(Kind::product, std::move(factors));
      if (minus) {
        inner = negative(inner);
      }
      arguments = {inner};
    }
    int out = -1;
    if (base >= 0) {
      if (name != "log" || arguments.size() != 1) {
        unexpected();
      }
      out = quotient(tree_.make(Kind::call, {arguments[0]}, "ln"),
                     tree_.make(Kind::call, {base}, "ln"));
      if (tree_[arguments[0]].kind == Kind::number && tree_[base].kind == Kind::number) {
        out = exact_log(arguments[0], base, out);
      }
    } else {
      out = tree_.make(Kind::call, std::move(arguments), name == "lg" ? "log10" : name);
    }
    return power_node >= 0 ? tree_.make(Kind::power, {out, power_node}) : out;
  }

  /// log_2 8 = 3
  int exact_log(int of, int base, int otherwise) {
    const Rational& b = tree_[base].value;
    const Rational& x = tree_[of].value;
    if (b <= 1 || x <= 0 || bits(x) > 2000) {
      return otherwise;
    }
    Rational p = 1;
    const bool below = x < 1;
    const Rational goal = below ? Rational(1 / x) : x;
    for (int n = 0; n <= 2000 && p <= goal; ++n) {
      if (p == goal) {
        return tree_.number(below ? -n : n);
      }
      p = multiply(p, b, budget_);
    }
    return otherwise;
  }

  int matrix(const std::string& environment) {
    static constexpr std::array<std::string_view, 6> kMatrices{"pmatrix", "bmatrix", "matrix",
                                                               "array",   "Bmatrix", "smallmatrix"};
    if (!any_of(environment, kMatrices)) {
      throw Stop{"an unknown environment"};
    }
    const Inside inside(*this);
    Node n;
    n.kind = Kind::matrix;
    int row = 0;
    const auto end_row = [&] {
      if (row == 0) {
        return;
      }
      if (n.columns != 0 && n.columns != row) {
        throw Stop{"rows of different length"};
      }
      n.columns = row;
      row = 0;
    };
    while (!(token().type == TokenType::command && token().text.starts_with("end:"))) {
      if (take("\\\\")) {
        end_row();
        continue;
      }
      if (take("&")) {
        continue;
      }
      n.kids.push_back(item());
      ++row;
    }
    end_row();
    ++at_;
    if (n.kids.empty()) {
      unexpected();
    }
    return tree_.add(std::move(n));
  }

  std::vector<Token> tokens_;
  Tree& tree_;
  Budget& budget_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int nested_ = 0, bars_ = 0, in_set_ = 0, french_ = 0;
  bool split_ = false;
  std::string currency_;
};

}  // namespace

int parse(std::vector<Token> tokens, Tree& tree, Budget& budget) {
  return Parser(std::move(tokens), tree, budget).run();
}

}  // namespace minirl::rl::verifier
