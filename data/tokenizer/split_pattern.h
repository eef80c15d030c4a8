// minirl data/tokenizer/split_pattern.h -- the regular expressions that byte-level tokenizers cut
// texts with, as hand-written matchers. One is chosen by the exact text of the pattern: a pattern
// that differs in one character cuts other tokens, so an unknown one is refused, not approximated.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minirl::data {

struct SplitPattern {
  enum class Kind : unsigned char {
    whole,  // no cut at all
    gpt2,   // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    modern  // cl100k and its relatives: Llama-3, Qwen2, Qwen3
  };
  Kind kind = Kind::whole;
  int digits = 1;  // modern: longest run of numbers in one piece

  /// End of the piece that begins at `at` (below the size). Every byte belongs to a piece.
  std::size_t next(std::string_view text, std::size_t at) const;
};

/// Nothing for a pattern that is not known.
std::optional<SplitPattern> find_split_pattern(std::string_view regex);
/// Names of the known ones, for messages.
std::string known_split_patterns();

/// Pre-tokenization: a text is cut by each stage in turn.
struct SplitStage {
  SplitPattern pattern;
  bool prefix_space = false;  // a piece that does not begin with ' ' gets one before it is cut
};

}  // namespace minirl::data
