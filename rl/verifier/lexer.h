// minirl rl/verifier/lexer.h -- answer LaTeX and plain text to tokens. Everything that only formats
// is gone afterwards; no token is ever evaluated.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rl/verifier/rational.h"

namespace minirl::rl::verifier {

enum class TokenType { number, letter, word, text, command, mark, end };

struct Token {
  TokenType type = TokenType::end;
  std::string text;      // the letter, the word, the command without its backslash, the mark
  Rational value = 0;    // of a number
  bool literal = false;  // number: digits only
  bool space = false;    // space before it
};

struct LexOptions {
  bool thousands = true;  // 1,234 outside brackets is one number
};

/// Throws Stop when the text is too long, nests too deeply, or holds what is no part of an answer.
std::vector<Token> lex(std::string_view text, const LexOptions& options, Budget& budget);

/// Letters and digits of text: lower case, one space between words, no final dot.
std::string plain_words(std::string_view text);

}  // namespace minirl::rl::verifier
