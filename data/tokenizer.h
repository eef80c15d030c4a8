// minirl data/tokenizer.h -- text to token ids and back.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace minirl {
using Token = std::int32_t;
}

namespace minirl::data {

/// A token with a name of its own ("<|endoftext|>"), outside of the byte-pair vocabulary.
struct SpecialToken {
  Token id;
  std::string text;
  bool control;  // Hugging Face's "special": left out where special tokens are skipped
};

/// What encode() does with the texts of special tokens inside its input.
enum class Specials : unsigned char {
  parse,    // they become their ids, as Hugging Face tokenizers do
  as_text,  // they are ordinary bytes: for text that a user or a data set supplies
};

/// Ids and bytes are exact inverses: decode(encode(text)) == text for every byte string.
/// Completions are never tokenised again: the sampled ids are what is trained on.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<Token> encode(std::string_view text,
                                    Specials specials = Specials::parse) const = 0;
  /// Bytes, not necessarily valid UTF-8. An id outside [0, vocab_size) becomes U+FFFD.
  /// `skip_control` leaves out control tokens such as the end of a text.
  virtual std::string decode(std::span<const Token> ids, bool skip_control = false) const = 0;
  virtual Index vocab_size() const = 0;
  /// The token that ends a completion; it is sampled and trained like any other (R6).
  virtual Token eos() const = 0;
  virtual const std::vector<SpecialToken>& specials() const = 0;
  /// Writes tokenizer.json and tokenizer_config.json, which Hugging Face libraries load as they
  /// are.
  virtual void save(const std::filesystem::path& directory) const = 0;

  std::optional<Token> special(std::string_view text) const;
};

/// 256 byte tokens, whose id is the byte, and the special tokens of Qwen3 that a small model needs:
/// <|endoftext|> 256 (the end), <|im_start|> 257, <|im_end|> 258, <think> 259, </think> 260.
std::unique_ptr<Tokenizer> byte_tokenizer();

}  // namespace minirl::data
