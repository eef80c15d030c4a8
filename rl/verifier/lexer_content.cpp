// Arguments of \text and of font commands: words, units or mathematics.
#include <utility>

#include "rl/verifier/lexer_state.h"
#include "rl/verifier/units.h"

namespace minirl::rl::verifier {
namespace {

/// m\,s^{-1} as "m s^-1".
std::string unit_text(std::string_view text) {
  std::string out;
  if (text.size() > 60) {
    return out;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      const std::string_view rest = text.substr(i);
      const bool dot = rest.starts_with("\\cdot");
      if (i + 1 < text.size() && is_letter(text[i + 1]) && !dot) {
        return {};
      }
      out += ' ';
      i += dot ? 4 : 1;
    } else if (c == '~') {
      out += ' ';
    } else if (c != '{' && c != '}') {
      out += c;
    }
  }
  const std::size_t first = out.find_first_not_of(' ');
  if (first == std::string::npos) {
    return {};
  }
  return out.substr(first, out.find_last_not_of(' ') - first + 1);
}

}  // namespace

void Lexer::content(std::size_t at, std::size_t end, int depth, bool is_text,
                    const std::string& name) {
  const std::string_view inner = text_.substr(at, end - at);
  const bool spaces = inner.find_first_of(" ~") != std::string_view::npos;
  std::size_t letters_in = 0;
  bool digits_in = false;
  bool commands = false;
  for (const char c : inner) {
    letters_in += is_letter(c) || static_cast<unsigned char>(c) >= 0x80 ? 1 : 0;
    digits_in = digits_in || is_digit(c);
    commands = commands || c == '\\' || c == '$' || c == '{';
  }
  const std::string words = plain_words(inner);
  if (is_text && (inner == "x" || inner == " x ") && !out_.empty() &&
      out_.back().type == TokenType::number && text_.substr(end).find("10^") < 4) {
    mark("*");  // 3.2\text{ x }10^5
    return;
  }
  const bool measured =
      !out_.empty() && out_.back().type == TokenType::number && find_unit(words);  // 60 min
  if (name == "operatorname" || (!measured && (name == "mathrm" || name == "text") &&
                                 is_function_name(words) && words.size() > 2 && words != "and")) {
    if (is_function_name(words)) {
      push(TokenType::command,
           words == "infinity" || words == "inf" || words == "oo" ? "infty" : words);
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
       (out_.back().type == TokenType::letter && !is_text) || out_.back().type == TokenType::text ||
       out_.back().type == TokenType::command);
  if (words == "^ circ") {  // a degree sign set as text
    mark("^");
    push(TokenType::command, "circ");
    return;
  }
  const std::string measure = unit_text(inner);
  if (commands && after_value && measure.size() > 1 && parse_unit(measure)) {
    push(TokenType::text, measure);  // \mathrm{m\,s^{-1}}
    return;
  }
  if (letters_in == 0 || commands || name == "boxed" || name == "fbox" || name == "num") {
    space_ = space_ || spaces;
    mark("(");  // a group of its own
    const int sets_before = sets_;
    const bool text_before = std::exchange(in_text_, is_text);
    range(at, end, depth + 1);
    in_text_ = text_before;
    sets_ = sets_before;
    mark(")");
    unwrap();
    return;
  }
  if (!is_text) {
    const bool in_fraction = !out_.empty() && out_.back().text == "{" && find_unit(inner);
    if (letters_in == inner.size() &&
        (((after_value || in_fraction) && find_unit(inner)) || inner.size() > 1)) {
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
  const bool over = !out_.empty() && out_.back().text == "{" && find_unit(words);
  if (letters_in == 1 && inner.size() <= 3 && !after_value && !over) {  // \text{C}, \text{(C)}
    range(at, end, depth + 1);
    return;
  }
  if (only_single_letters(inner) &&
      (inner.find(',') != std::string_view::npos || inner.find(" and ") != std::string_view::npos ||
       inner.find(" or ") != std::string_view::npos)) {  // \text{A, C}
    range(at, end, depth + 1);
    return;
  }
  if (digits_in && !parse_unit(words)) {
    const bool text_before = std::exchange(in_text_, true);
    range(at, end, depth + 1);
    in_text_ = text_before;
    return;
  }
  std::string raw(inner);
  while (!raw.empty() &&
         (is_space(raw.back()) || raw.back() == '.' || raw.back() == '\'' || raw.back() == '"')) {
    raw.pop_back();
  }
  raw.erase(0, raw.find_first_not_of(" \n\t~`\""));
  if (raw == "\xc2\xa2" || raw == "\xe2\x82\xac") {
    push(TokenType::text, raw);
    return;
  }
  push(TokenType::text, raw);
}

bool Lexer::only_single_letters(std::string_view text) {
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

void Lexer::unit_content(std::size_t at, std::size_t end) {
  std::string words;
  for (std::size_t i = at; i < end; ++i) {
    if (is_letter(text_[i]) || text_[i] == '/' || text_[i] == '^' || is_digit(text_[i])) {
      words += text_[i];
    }
  }
  push(TokenType::text, words);
}

/// The vector i, j or k behind \mathbf, \vec or \hat.
bool Lexer::basis(const std::string& name, std::size_t at, std::size_t end) {
  if (name != "mathbf" && name != "vec" && name != "hat" && name != "boldsymbol" &&
      name != "widehat") {
    return false;
  }
  const std::string_view rest = text_.substr(skip_spaces(at, end), end - skip_spaces(at, end));
  for (const char c : {'i', 'j', 'k'}) {
    for (const std::string& form :
         {std::string{'{', c, '}'}, std::string("{\\").append(1, c).append("math}"),
          std::string(1, c)}) {
      const bool ends =
          form.size() > 1 || rest.size() == 1 || (rest.size() > 1 && !is_letter(rest[1]));
      if (rest.starts_with(form) && ends) {
        basis_size_ = form.size();
        push(TokenType::command, std::string("basis_").append(1, c));
        return true;
      }
    }
  }
  return false;
}

/// "( one token )" that a font command made is that token.
void Lexer::unwrap() {
  const std::size_t n = out_.size();
  if (n >= 3 && out_[n - 3].text == "(" && out_[n - 3].type == TokenType::mark) {
    out_[n - 2].space = out_[n - 3].space;
    out_.pop_back();
    out_.erase(out_.end() - 2);
  } else if (n >= 2 && out_[n - 2].text == "(") {
    out_.resize(n - 2);
  }
}

}  // namespace minirl::rl::verifier
