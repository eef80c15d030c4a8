// minirl rl/verifier/lexer_state.h -- the lexer behind lex(). Its member functions live in
// lexer.cpp (letters, marks), lexer_number.cpp (numerals), lexer_command.cpp (LaTeX commands) and
// lexer_content.cpp (arguments of \\text and font commands). Private to these files.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rl/verifier/lexer.h"

namespace minirl::rl::verifier {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// Names of functions and constants that are also written without a backslash.
bool is_function_name(std::string_view word);

class Lexer {
 public:
  Lexer(std::string_view text, const LexOptions& options, Budget& budget)
      : text_(text), options_(options), budget_(budget) {}

  std::vector<Token> run();

 private:
  void push(TokenType type, std::string text);
  void mark(std::string_view text) { push(TokenType::mark, std::string(text)); }

  std::size_t skip_spaces(std::size_t at, std::size_t end) const;

  /// The '}' of the '{' at `at`.
  std::size_t closing(std::size_t at, std::size_t end);

  void range(std::size_t at, std::size_t end, int depth);

  std::size_t other(std::size_t at, std::size_t end);

  static std::size_t currency_symbol(std::string_view rest, std::string_view& symbol);

  /// What separates thousands at `at`: its length, 0 if nothing does.
  std::size_t separator(std::size_t at, std::size_t end) const;

  std::size_t number(std::size_t at, std::size_t end);

  /// The repeating part of a decimal whose digits after the point end at `at`; moves `at` past it.
  std::string repeating(std::size_t& at, std::size_t end, std::string& digits, std::size_t& after);
  std::string dotted(std::size_t& at, std::size_t end);
  Rational exact(const std::string& digits, std::size_t after);
  static Integer to_integer(const std::string& digits);

  std::size_t letters(std::size_t at, std::size_t end);

  /// Words, not products of symbols: abc and ABCD are products (letters in order, or capitals that
  /// name points).
  static bool is_word(std::string_view run);
  static bool only_choices(std::string_view run);

  std::size_t command(std::size_t at, std::size_t end, int depth);

  void content(std::size_t at, std::size_t end, int depth, bool is_text, const std::string& name);

  static bool only_single_letters(std::string_view text);

  /// Letters of the argument of \qty or \SI as unit words.
  void unit_content(std::size_t at, std::size_t end);
  bool basis(const std::string& name, std::size_t at, std::size_t end);
  std::size_t basis_size_ = 0;
  /// "( one token )" that a font command made is that token.
  void unwrap();

  std::string_view text_;
  LexOptions options_;
  Budget& budget_;
  std::vector<Token> out_;
  bool space_ = false;
  bool in_text_ = false;  // inside \text{}: runs of letters are words
  int environments_ = 0, braces_ = 0, brackets_ = 0, sets_ = 0;
};

}  // namespace minirl::rl::verifier
