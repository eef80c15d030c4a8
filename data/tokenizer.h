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
  as_text,  // control tokens are ordinary text (encode_special_tokens of Hugging Face)
};

/// Bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};
/// Does [begin, end) share a byte with one of `spans` (ascending, disjoint)?
bool overlaps(std::span<const TextSpan> spans, std::size_t begin, std::size_t end);

/// decode(encode(text)) == text for every byte string, UTF-8 or not; with a tokenizer that
/// normalises, for every text that is normal already (docs/tokenizer.md). Completions are never
/// tokenised again: the sampled ids are what is trained on. Safe to use from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<Token> encode(std::string_view text,
                                    Specials specials = Specials::parse) const = 0;
  /// Of a rendered prompt: control tokens are found only where no byte belongs to a `literal` span
  /// (in ascending order), so what a data set wrote cannot end a turn or begin one.
  virtual std::vector<Token> encode_prompt(std::string_view text,
                                           std::span<const TextSpan> literal) const = 0;
  /// Ids that the tokenizer's file puts before every text (a begin token), usually none.
  virtual std::vector<Token> prefix() const { return {}; }
  /// ... and behind it: not for prompts.
  virtual std::vector<Token> suffix() const { return {}; }
  /// Bytes, not necessarily valid UTF-8. An id outside [0, vocab_size) becomes U+FFFD.
  /// `skip_control` leaves out control tokens such as the end of a text.
  virtual std::string decode(std::span<const Token> ids, bool skip_control = false) const = 0;
  virtual Index vocab_size() const = 0;
  /// The token that ends a completion; it is sampled and trained like any other (R6). Throws
  /// Exit::usage where the files name none.
  virtual Token eos() const = 0;
  /// Every token that ends a completion: the union of what the files of a model declare
  /// (config.json, generation_config.json, tokenizer_config.json). eos() is one of them.
  virtual std::vector<Token> end_tokens() const { return {eos()}; }
  /// Which they are and where they were declared, for the log.
  virtual std::string end_token_words() const;
  virtual const std::vector<SpecialToken>& specials() const = 0;
  /// Writes tokenizer.json and tokenizer_config.json, which Hugging Face libraries load as they
  /// are.
  virtual void save(const std::filesystem::path& directory) const = 0;
  /// The chat template that came with the tokenizer (Jinja); empty: none.
  virtual const std::string& chat_template() const;

  std::optional<Token> special(std::string_view text) const;
};

/// 256 byte tokens, whose id is the byte, and the special tokens of Qwen3 that a small model needs:
/// <|endoftext|> 256 (the end), <|im_start|> 257, <|im_end|> 258, <think> 259, </think> 260.
std::unique_ptr<Tokenizer> byte_tokenizer();

/// The byte-level BPE of a Hugging Face directory: tokenizer.json and, where they exist,
/// tokenizer_config.json (end token, chat template) and chat_template.jinja. The end tokens that
/// config.json and generation_config.json of `model` declare (default: the same directory) are
/// added. Throws Exit::usage, naming the file and what in it is missing, damaged or not served.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory,
                                          const std::filesystem::path& model = {});
/// ... from the text of a tokenizer.json alone; `name` is what errors call it.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view tokenizer_json,
                                           const std::string& name);

}  // namespace minirl::data
