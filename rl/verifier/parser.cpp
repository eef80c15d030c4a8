#include "rl/verifier/parser.h"

#include <algorithm>
#include <utility>

#include "rl/verifier/parser_state.h"

namespace minirl::rl::verifier {

int Parser::run() {
  collapse();
  join_numerals();
  plain_basis();
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

const Token& Parser::token(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

bool Parser::is_mark(std::string_view text, std::size_t ahead) const {
  return token(ahead).type == TokenType::mark && token(ahead).text == text;
}

bool Parser::is_command(std::string_view text, std::size_t ahead) const {
  return token(ahead).type == TokenType::command && token(ahead).text == text;
}

bool Parser::is_words(std::size_t ahead) const {
  return token(ahead).type == TokenType::text || token(ahead).type == TokenType::word;
}

bool Parser::is_join(std::size_t ahead) const {
  return token(ahead).type == TokenType::text &&
         (token(ahead).text == "and" || token(ahead).text == "or");
}

bool Parser::take(std::string_view text) {
  if (!is_mark(text)) {
    return false;
  }
  ++at_;
  return true;
}

void Parser::expect(std::string_view text) {
  if (!take(text)) {
    unexpected();
  }
}

void Parser::unexpected() const {
  throw Stop{token().type == TokenType::end ? "it ends too early"
                                            : "it is no mathematics that is understood"};
}

/// ((x)) and {{x}} are (x) and {x}: thousands of them are harmless.
void Parser::collapse() {
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
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (match[i] == i + 1 && tokens_[i].text == "{") {  // {} is nothing
      drop[i] = drop[i + 1] = true;
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

/// Digits and capital letters in front of a base above ten are one numeral: 2A_{16}.
void Parser::join_numerals() {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    std::size_t end = i;
    std::string digits;
    bool letters = false;
    bool numbers = false;
    for (; end < tokens_.size() && digits.size() < 40; ++end) {
      const Token& t = tokens_[end];
      const bool number = t.type == TokenType::number && t.literal;
      const bool letter = (t.type == TokenType::letter || t.type == TokenType::text) &&
                          t.text.size() == 1 && t.text[0] >= 'A' && t.text[0] <= 'F';
      if ((!number && !letter) || (end > i && t.space && !letter)) {
        break;
      }
      letters = letters || letter;
      numbers = numbers || number;
      digits += t.text;
    }
    if (!letters || !numbers || end >= tokens_.size()) {
      i = end > i ? end - 1 : i;
      continue;
    }
    const std::size_t closed = tokens_[end].text == ")" ? end + 1 : end;
    const auto mark = [&](std::size_t at, std::string_view text) {
      return at < tokens_.size() && tokens_[at].type == TokenType::mark && tokens_[at].text == text;
    };
    const std::size_t base = closed + (mark(closed + 1, "{") ? 2 : 1);
    if (mark(closed, "_") && base < tokens_.size() && tokens_[base].type == TokenType::number &&
        tokens_[base].value > 10) {
      budget_.spend(static_cast<std::int64_t>(tokens_.size()));  // of the erasure
      tokens_[i].type = TokenType::number;
      tokens_[i].text = digits;
      tokens_[i].literal = true;
      tokens_.erase(tokens_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    tokens_.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
}

/// \mathbf{i} is the imaginary unit where no \mathbf{j} or \mathbf{k} says that it is a vector.
void Parser::plain_basis() {
  const bool vector = std::any_of(tokens_.begin(), tokens_.end(), [](const Token& t) {
    return t.type == TokenType::command && (t.text == "basis_j" || t.text == "basis_k");
  });
  for (Token& t : tokens_) {
    if (!vector && t.type == TokenType::command && t.text == "basis_i") {
      t.type = TokenType::letter;
      t.text = "i";
    }
  }
}

bool Parser::at_closer() const {
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

/// Items up to a closer: one alone, or a list.
int Parser::items() {
  const Deeper deeper(depth_);
  std::vector<int> kids;
  bool either = false;
  bool both = false;
  kids.push_back(item());
  while (at_separator()) {
    while (at_separator()) {
      either = either || (is_join() && token().text == "or");
      both = both || (is_join() && token().text == "and");
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
  return tree_.make(Kind::list, std::move(kids), either ? "or" : both ? "and" : "");
}

int parse(std::vector<Token> tokens, Tree& tree, Budget& budget) {
  return Parser(std::move(tokens), tree, budget).run();
}

}  // namespace minirl::rl::verifier
