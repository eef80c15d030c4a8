// One item of an answer: mathematics with the words around it, relations, unions, ratios.
#include <algorithm>

#include "rl/verifier/parser_state.h"
#include "rl/verifier/units.h"
#include "rl/verifier/words.h"

namespace minirl::rl::verifier {
/// One item: mathematics with words around it.
int Parser::item() {
  std::vector<int> pieces;
  std::string before;
  std::vector<std::string> after;  // words behind each piece
  std::string currency;
  std::swap(currency, currency_);
  const auto add = [](std::string& to, const std::string& words) {
    to += (to.empty() ? "" : " ") + words;
  };
  while (!at_closer() && !at_separator()) {
    budget_.spend(1);
    std::size_t end = 0;
    if (is_mark(".") || (is_mark(":") && pieces.empty())) {
      ++at_;
    } else if (is_mark("[") && nested_ > 0 && !pieces.empty()) {
      break;                                                 // [0,1[
    } else if (!pieces.empty() && words_in_parentheses()) {  // 13 (thirteen)
      ++at_;
      add(after.back(), unit_words());
      ++at_;
    } else if (const std::string unit = pieces.empty() ? "" : unit_fraction(end); !unit.empty()) {
      add(after.back(), unit);
      at_ = end;
    } else if (is_words() && !is_currency()) {
      const std::string words = unit_words();
      if (is_relation()) {
        pieces.push_back(relation(tree_.make(Kind::text, {}, plain_words(words))));
        after.emplace_back();
      } else {
        add(pieces.empty() ? before : after.back(), words);
      }
    } else if (is_currency() && !pieces.empty()) {
      add(after.back(), token().text);
      ++at_;
    } else {
      if (!pieces.empty() && after.back().empty()) {
        unexpected();
      }
      pieces.push_back(relation(-1));
      after.emplace_back();
    }
  }
  std::swap(currency, currency_);  // ours in `currency`
  if (pieces.empty()) {
    if (before.empty()) {
      unexpected();
    }
    const std::string words = plain_words(before);
    if (says_all_reals(words)) {
      return symbol("reals");
    }
    if (const auto value = number_of_words(words)) {
      return tree_.number(*value);
    }
    return tree_.make(Kind::text, {}, words);
  }
  return with_words(pieces, before, after, currency);
}

/// Mathematics with words around it: a quantity, a set in words, or prose.
int Parser::with_words(std::vector<int>& pieces, const std::string& before,
                       std::vector<std::string>& after, const std::string& currency) {
  std::string all = before;
  for (const std::string& words : after) {
    all.append(" ").append(words);
  }
  all = plain_words(all);
  if (pieces.size() > 1) {
    const int value = before.empty() ? compound(pieces, after) : -1;
    return value >= 0 ? value : tree_.make(Kind::prose, std::move(pieces), all);
  }
  const std::string lead = plain_words(before);
  const std::size_t except = lead.find(" except");
  if (after[0].empty() && except != std::string::npos && says_all_reals(lead.substr(0, except))) {
    const int one =
        tree_[pieces[0]].kind == Kind::relation ? tree_[pieces[0]].kids.back() : pieces[0];
    return tree_.make(Kind::merge, {symbol("reals"), tree_.make(Kind::set, {one})}, "setminus");
  }
  if (denies(all)) {
    return tree_.make(Kind::prose, std::move(pieces), all);
  }
  int value = pieces[0];
  if (after[0].empty() && tree_[value].kind == Kind::symbol && says_all_reals(lead)) {
    return symbol("reals");  // all real numbers x
  }
  std::string words = after[0];
  words.erase(0, words.find_first_not_of(' '));
  const std::size_t first_gap = words.find(' ');
  if (const int scale = scale_of_word(plain_words(words.substr(0, first_gap))); scale != 0) {
    value = tree_[value].kind == Kind::number
                ? tree_.number(multiply(tree_[value].value, scale, budget_))
                : tree_.make(Kind::product, {value, tree_.number(scale)});
    words.erase(0, first_gap == std::string::npos ? words.size() : first_gap + 1);
  }
  if (!currency.empty()) {
    return tree_.make(Kind::quantity, {value}, currency);
  }
  const std::string small = plain_words(words);
  if (small == "degrees" || small == "degree" || small == "deg") {
    return tree_.make(Kind::degrees, {value});
  }
  if (small == "percent" || small == "percents" || small == "per cent") {
    return percent(value);
  }
  if (small == "pm" || small == "p.m" || small == "am" || small == "a.m") {
    return tree_.make(Kind::quantity, {value}, small[0] == 'p' ? "pm" : "am");
  }
  if (!words.empty() && parse_unit(words)) {
    return tree_.make(Kind::quantity, {value}, words);
  }
  if (!small.empty() && parse_unit(small)) {
    return tree_.make(Kind::quantity, {value}, small);
  }
  const std::size_t gap = words.find(' ');  // "35 cm long"
  if (gap != std::string::npos && parse_unit(words.substr(0, gap))) {
    return tree_.make(Kind::quantity, {value}, words.substr(0, gap));
  }
  return value;
}

int Parser::compound(const std::vector<int>& pieces, const std::vector<std::string>& after) {
  const auto number = [&](int piece) { return tree_[piece].kind == Kind::number; };
  if (!std::all_of(pieces.begin(), pieces.end(), number) || pieces.size() > 4) {
    return -1;
  }
  if (pieces.size() == 2 && after[0] == "to" && after[1].empty()) {
    return tree_.make(Kind::ratio, pieces, "?:?");
  }
  if (pieces.size() == 2 && plain_words(after[0]) == "base" && after[1].empty() &&
      is_integer(tree_[pieces[0]].value) && bits(tree_[pieces[0]].value) < 1000) {
    Node n;
    n.kind = Kind::based;
    n.text = digits_of(numerator(tree_[pieces[0]].value));
    n.value = tree_[pieces[1]].value;
    return tree_.add(std::move(n));
  }
  Rational sum = 0;
  std::string dimension;
  std::string first;
  for (std::size_t i = 0; i < pieces.size(); ++i) {  // 1 hour 30 minutes
    std::string words = after[i];
    if (i + 1 < pieces.size() && words.ends_with(" and")) {
      words.erase(words.size() - 4);
    }
    const auto unit = parse_unit(words);
    if (!unit || unit->dimension.empty() || (i > 0 && unit->dimension != dimension)) {
      return -1;
    }
    dimension = unit->dimension;
    first = i == 0 ? words : first;
    sum = add(sum, multiply(tree_[pieces[i]].value, unit->factor, budget_), budget_);
  }
  const Rational scale = power(parse_unit(first)->factor, -1, budget_);
  return tree_.make(Kind::quantity, {tree_.number(multiply(sum, scale, budget_))}, first);
}

std::string Parser::unit_fraction(std::size_t& end) const {
  if (!is_command("frac")) {
    return {};
  }
  std::string out;
  std::size_t ahead = 1;
  for (int side = 0; side < 2; ++side) {
    if (!is_mark("{", ahead)) {
      return {};
    }
    std::string words;
    bool word = false;
    for (++ahead; !is_mark("}", ahead); ++ahead) {
      const Token& t = token(ahead);
      const bool text = t.type == TokenType::text || t.type == TokenType::word;
      if (!text && t.type != TokenType::number && !is_mark("^", ahead) && !is_mark("*", ahead)) {
        return {};
      }
      word = word || text;
      words += (text && !words.empty() ? " " : "") + t.text;
    }
    ++ahead;
    if (!word || !parse_unit(words)) {
      return {};
    }
    out += (side == 0 ? "" : "/") + words;
  }
  end = at_ + ahead;
  return out;
}

bool Parser::words_in_parentheses() const {
  if (!is_mark("(")) {
    return false;
  }
  std::size_t ahead = 1;
  while (is_words(ahead) && !is_join(ahead) && !is_currency(ahead)) {
    ++ahead;
  }
  return ahead > 1 && is_mark(")", ahead);
}

bool Parser::is_currency(std::size_t ahead) const {
  if (token(ahead).type != TokenType::text) {
    return false;
  }
  const std::string& t = token(ahead).text;
  return t == "$" || t == "\xe2\x82\xac" || t == "\xc2\xa3" || t == "\xc2\xa5" ||
         t == "\xe2\x82\xb9";
}

/// \text{km}/\text{h}, \text{cm}^2
std::string Parser::unit_words() {
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

bool Parser::is_relation() const {
  if (token().type != TokenType::mark) {
    return false;
  }
  const std::string& t = token().text;
  return t == "=" || t == "<" || t == "<=" || t == ">" || t == ">=" || t == "!=" || t == "in" ||
         t == "~";
}

int Parser::relation(int first) {
  Node node;
  node.kind = Kind::relation;
  node.kids.push_back(first >= 0 ? first : congruence(operand(), false));
  while (is_relation()) {
    const bool equivalent = token().literal;
    node.ops.push_back(token().text);
    ++at_;
    if (is_mark("=") && node.ops.back() == "=") {
      ++at_;
    }
    if (is_words() && !is_currency()) {
      node.kids.push_back(tree_.make(Kind::text, {}, plain_words(unit_words())));
    } else {
      const bool outer = std::exchange(equivalent_, equivalent);
      const int side = operand();
      equivalent_ = outer;
      node.kids.push_back(congruence(side, equivalent));
    }
  }
  if (node.kids.size() == 1) {
    return node.kids[0];
  }
  return tree_.add(std::move(node));
}

/// 3 \pmod{5}, 3 (\mathrm{mod} 5), and after \equiv also 3 \mod 5.
int Parser::congruence(int value, bool equivalent) {
  int modulus = -1;
  if (is_command("pmod") || (equivalent && is_command("mod"))) {
    ++at_;
    modulus = argument();
  } else if (is_mark("(") && is_command("mod", 1)) {
    at_ += 2;
    modulus = sum();
    expect(")");
  } else {
    return value;
  }
  return tree_.make(Kind::call, {value, modulus}, "pmod");
}

int Parser::operand() {
  int left = ratio();
  while (is_command("cup") || is_command("cap") || is_command("setminus")) {
    const std::string how = token().text;
    ++at_;
    const int right = ratio();
    left = tree_.make(Kind::merge, {left, right}, how);
  }
  return left;
}

int Parser::ratio() {
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

std::string Parser::spelling() const {
  return at_ > 0 && tokens_[at_ - 1].type == TokenType::number ? tokens_[at_ - 1].text : "?";
}

std::string Parser::spelling_ahead() const {
  return token().type == TokenType::number ? token().text : "?";
}

}  // namespace minirl::rl::verifier
