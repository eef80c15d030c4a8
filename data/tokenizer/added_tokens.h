// minirl data/tokenizer/added_tokens.h -- finding the texts of added tokens inside a text, with the
// rules of the Hugging Face package `tokenizers`: leftmost, then longest.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer_file.h"

namespace minirl::data {

class AddedTokenFinder {
 public:
  /// `texts[i]` is what `tokens[i]` looks like in a text (its content, normalised or not).
  AddedTokenFinder(std::vector<AddedToken> tokens, std::vector<std::string> texts);

  struct Piece {
    std::string_view text;
    Token id = -1;  // -1: ordinary text
  };
  /// Is this match of a token at [begin, end) to be left as ordinary text?
  using Ignore = std::function<bool(const AddedToken&, std::size_t begin, std::size_t end)>;

  /// Cuts `text` into tokens and what is between them, in order. An ignored match is passed over as
  /// a whole.
  void split(std::string_view text, const Ignore& ignore, std::vector<Piece>& out) const;
  bool empty() const { return tokens_.empty(); }

 private:
  std::vector<AddedToken> tokens_;
  std::vector<std::string> texts_;
  std::vector<std::size_t> by_byte_[256];  // longest first
};

}  // namespace minirl::data
