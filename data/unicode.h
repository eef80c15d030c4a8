// minirl data/unicode.h -- characters of UTF-8 texts: classes and the canonical normal form NFC, as
// the Hugging Face package `tokenizers` has them (data/unicode_tables.inc says how they were
// found).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minirl::data::unicode {

/// Not a character: one byte that belongs to no well-formed UTF-8 sequence.
inline constexpr char32_t kInvalid = 0xFFFFFFFF;

/// A character and how many bytes it takes. An ill-formed byte is one kInvalid of length 1.
struct Char {
  char32_t point = kInvalid;
  unsigned length = 1;
};

/// The character that begins at `text[at]`; `at` is below the size. Overlong forms, surrogates and
/// points above U+10FFFF are ill-formed, as in the Unicode standard (table 3-7).
Char decode(std::string_view text, std::size_t at);
void append(std::string& out, char32_t point);

/// Bits of classes().
enum Class : std::uint8_t {
  letter = 1,    // \p{L}
  number = 2,    // \p{N}
  space = 4,     // \s, the property White_Space
  word = 8,      // \w
  unstable = 16  // NFC may change a text that has such a character
};
/// 0 for kInvalid and for anything above U+10FFFF.
std::uint8_t classes(char32_t point);

/// The text in NFC. Ill-formed bytes stay as they are and are never combined with.
std::string nfc(std::string_view text);
/// Is nfc(text) certainly the text itself? One pass without memory.
bool is_plainly_nfc(std::string_view text);

bool is_valid(std::string_view text);
/// Every maximal ill-formed part becomes one U+FFFD, as Python's bytes.decode(errors="replace")
/// does; `replaced`, if given, counts them.
std::string replace_invalid(std::string_view text, std::size_t* replaced = nullptr);

/// How many bytes at the end of `text` begin a character that is not complete yet (0 to 3).
std::size_t incomplete_tail(std::string_view text);

}  // namespace minirl::data::unicode
