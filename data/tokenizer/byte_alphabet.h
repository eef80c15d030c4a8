// minirl data/tokenizer/byte_alphabet.h -- how byte-level vocabularies write bytes as characters.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace minirl::data {

/// Hugging Face vocabularies are JSON texts, so a byte-level vocabulary writes each byte as one
/// printable character: the printable bytes of Latin-1 as themselves, the others, in order, from
/// U+0100 on.
const std::array<std::string, 256>& byte_alphabet();

/// The bytes that a vocabulary entry stands for; nothing if a character is not of the alphabet.
std::optional<std::string> alphabet_bytes(std::string_view entry);

}  // namespace minirl::data
