// Sums, terms and factors.
#include <algorithm>
#include <array>

#include "rl/verifier/parser_state.h"
#include "rl/verifier/words.h"

namespace minirl::rl::verifier {

int Parser::negative(int node) {
  if (tree_[node].kind == Kind::number) {
    return tree_.number(-tree_[node].value);
  }
  return tree_.make(Kind::product, {tree_.number(-1), node});
}

int Parser::sum() {
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

bool Parser::is_set(int node) const {
  const Node& n = tree_[node];
  return n.kind == Kind::set || n.kind == Kind::tuple || n.kind == Kind::merge ||
         (n.kind == Kind::symbol && n.text == "reals");
}

bool Parser::starts_factor() const {
  const Token& t = token();
  if (t.type == TokenType::number || t.type == TokenType::letter) {
    return true;
  }
  if (t.type == TokenType::command) {
    return !(t.text == "cup" || t.text == "cap" || t.text == "setminus" ||
             t.text.starts_with("end:") || t.text == "choose" || t.text == "pmod" ||
             t.text == "bmod" || t.text == "mod" || t.text == "of" || t.text == "over" ||
             t.text == "rfloor" || t.text == "rceil");
  }
  if (t.type == TokenType::mark) {
    return (t.text == "(" && !is_command("mod", 1)) || t.text == "{" || t.text == "lvert" ||
           (t.text == "|" && bars_ == 0 && in_set_ == 0);
  }
  return false;
}

int Parser::quotient(int above, int below) {
  if (tree_[above].kind == Kind::number && tree_[below].kind == Kind::number &&
      tree_[below].value != 0) {
    const Rational inverse = power(tree_[below].value, -1, budget_);
    return tree_.number(multiply(tree_[above].value, inverse, budget_));
  }
  return tree_.make(Kind::product, {above, tree_.make(Kind::power, {below, tree_.number(-1)})});
}

bool Parser::proper(int node) const {
  return tree_[node].kind == Kind::number && tree_[node].value > 0 && tree_[node].value < 1;
}

int Parser::term() {
  std::vector<int> factors;
  if (const int chosen = counted(); chosen >= 0) {
    return chosen;
  }
  const bool literal = token().type == TokenType::number && token().literal;
  const std::size_t begin = at_;
  factors.push_back(factor());
  // a bare integer: 2 2/3, 2\frac{2}{3}, {2}\frac{2}{3}
  bool mixed = (literal && at_ == begin + 1) ||
               (at_ == begin + 3 && tokens_[begin].text == "{" && tokens_[begin + 1].literal &&
                tokens_[begin + 1].type == TokenType::number);
  while (true) {
    budget_.spend(1);
    if (take("*")) {
      factors.push_back(signed_factor());
    } else if (take("/")) {
      const int below = signed_factor();
      const int above = factors.size() == 1 ? factors[0] : tree_.make(Kind::product, factors);
      factors = {quotient(above, below)};
    } else if (take("%")) {  // of the whole term: 12\frac{1}{2}\%
      if (factors.size() == 1 && tree_[factors[0]].kind == Kind::number) {
        factors[0] = percent(factors[0]);
      } else {  // one factor more, not one level more: signs may be many
        factors.push_back(tree_.number(Rational(1) / 100));
      }
    } else if (mixed && token().type == TokenType::number && token().literal && token().space &&
               is_mark("/", 1) && token(2).type == TokenType::number && token(2).literal &&
               token(2).value > token().value) {
      const Rational part = multiply(token().value, power(token(2).value, -1, budget_), budget_);
      at_ += 3;
      factors = {tree_.number(add(tree_[factors[0]].value, part, budget_))};
    } else if (is_command("bmod") || (is_command("mod") && !equivalent_)) {
      ++at_;
      const int left = factors.size() == 1 ? factors[0] : tree_.make(Kind::product, factors);
      factors = {tree_.make(Kind::call, {left, signed_factor()}, "mod")};
    } else if (starts_factor() && unit_fraction(end_).empty() && !words_in_parentheses()) {
      if (token().type == TokenType::number && at_ > 0 &&
          tokens_[at_ - 1].type == TokenType::number &&
          tokens_[at_ - 1].text.size() + token().text.size() > 0 && !split_) {
        unexpected();  // "2 3" is no product
      }
      split_ = false;
      const bool fraction = is_command("frac");
      const int next = factor();
      if (mixed && fraction && tree_[next].kind == Kind::degrees && proper(tree_[next].kids[0])) {
        const int whole =
            tree_.number(add(tree_[factors[0]].value, tree_[tree_[next].kids[0]].value, budget_));
        factors = {tree_.make(Kind::degrees, {whole})};  // 22\frac{1}{2}^\circ
      } else if (mixed && fraction && proper(next)) {
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

/// 5C2, {}_5C_2, ^5C_2, and the same with P: choices and arrangements; -1: it is none of these.
int Parser::counted() {
  std::size_t ahead = 0;
  if (is_mark("_") || is_mark("^")) {
    ++ahead;
  }
  const bool marked = ahead > 0;
  const bool group = marked && is_mark("{", ahead);
  ahead += group ? 1 : 0;
  if (token(ahead).type != TokenType::number || !token(ahead).literal) {
    return -1;
  }
  const int above = static_cast<int>(at_ + ahead);
  ahead += group ? 2 : 1;
  const Token& letter = token(ahead);
  if (letter.type != TokenType::letter || (letter.text != "C" && letter.text != "P") ||
      (letter.space && !marked)) {
    return -1;
  }
  ++ahead;
  const bool below_marked = is_mark("_", ahead);
  if (marked != below_marked) {
    return -1;
  }
  ahead += below_marked ? 1 : 0;
  const bool below_group = below_marked && is_mark("{", ahead);
  ahead += below_group ? 1 : 0;
  if (token(ahead).type != TokenType::number || !token(ahead).literal || token(ahead).space) {
    return -1;
  }
  const std::string kind = letter.text;
  const int n = tree_.number(tokens_[static_cast<std::size_t>(above)].value);
  const int k = tree_.number(token(ahead).value);
  at_ += ahead + (below_group ? 2 : 1);
  return tree_.make(Kind::call, {n, k}, kind == "C" ? "binom" : "arrange");
}

int Parser::signed_factor() {
  bool minus = false;
  while (is_mark("-") || is_mark("+")) {
    minus = minus != is_mark("-");
    ++at_;
  }
  const int value = factor();
  return minus ? negative(value) : value;
}

int Parser::percent(int value) {
  if (tree_[value].kind == Kind::number) {
    return tree_.number(multiply(tree_[value].value, Rational(1) / 100, budget_));  // charged: signs may be many
  }
  return tree_.make(Kind::product, {value, tree_.number(Rational(1) / 100)});
}

int Parser::factor() {
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

bool Parser::is_digits_in_parentheses() const {
  return at_ >= 3 && (tokens_[at_ - 1].text == ")" || tokens_[at_ - 1].text == "}") &&
         tokens_[at_ - 2].type == TokenType::number &&
         (tokens_[at_ - 3].text == "(" || tokens_[at_ - 3].text == "{");
}

int Parser::based() {
  std::string digits =
      tokens_[at_ - 1].type == TokenType::number ? tokens_[at_ - 1].text : tokens_[at_ - 2].text;
  ++at_;
  const bool group = take("{");
  const bool bracket = group && take("(");
  Rational base = 0;
  if (group && is_words() && plain_words(token().text) == "base") {
    ++at_;
  }
  if (token().type == TokenType::number) {
    base = token().value;
  } else if (is_words()) {
    const auto value = number_of_words(plain_words(token().text));
    if (!value) {
      unexpected();
    }
    base = *value;
  } else {
    unexpected();
  }
  ++at_;
  if (bracket) {
    expect(")");
  }
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

/// 22^\circ 30' is 22.5 degrees.
int Parser::minutes_of(int degrees) {
  const int whole = tree_[degrees].kids[0];
  if (token().type != TokenType::number || !(is_mark("'", 1)) ||
      tree_[whole].kind != Kind::number) {
    return degrees;
  }
  Rational value = add(tree_[whole].value, Rational(token().value / 60), budget_);
  at_ += 2;
  if (token().type == TokenType::number && is_mark("'", 1) && is_mark("'", 2)) {
    value = add(value, Rational(token().value / 3600), budget_);
    at_ += 3;
  }
  return tree_.make(Kind::degrees, {tree_.number(value)});
}

int Parser::exponent(int base) {
  const bool group = is_mark("{");
  if (is_command("circ", group ? 1 : 0) && (!group || is_mark("}", 2))) {
    at_ += group ? 3 : 1;
    if ((token().type == TokenType::letter || token().type == TokenType::text) &&
        (token().text == "C" || token().text == "F")) {
      ++at_;
    }
    return minutes_of(tree_.make(Kind::degrees, {base}));
  }
  if (group && token(1).type == TokenType::text && token(1).text == "o" && is_mark("}", 2) &&
      tree_[base].kind == Kind::number) {  // 90^{\text{o}}
    at_ += 3;
    return tree_.make(Kind::degrees, {base});
  }
  if (group && token(1).type == TokenType::letter && token(1).text == "o" && is_mark("}", 2) &&
      tree_[base].kind == Kind::number) {
    at_ += 3;
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

}  // namespace minirl::rl::verifier
