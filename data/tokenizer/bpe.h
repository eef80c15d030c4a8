// minirl data/tokenizer/bpe.h -- byte-pair encoding of one piece of text.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer_file.h"

namespace minirl::data {

/// Merges neighbouring tokens, the pair of the lowest rank first and the leftmost of equal ones,
/// until no pair is in the table. Safe to use from several threads.
class Bpe {
 public:
  /// Throws Exit::usage (`name`: the file): an entry that is there twice, a byte without a token, a
  /// merge of or into an unknown token.
  Bpe(const TokenizerFile& file, bool ignore_merges, const std::string& name);

  /// Appends the ids of `piece`, which is not empty. Time O(n log n).
  void encode(std::string_view piece, std::vector<Token>& out) const;
  /// The bytes of a token; an entry that is not written in the byte alphabet is its own text.
  std::string_view bytes(Token id) const;
  /// Ids are below this.
  Index size() const { return static_cast<Index>(offsets_.size()) - 1; }

 private:
  struct Merge {
    std::uint64_t pair = kNoPair;
    std::uint32_t rank = 0;
    Token into = -1;
  };
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};

  const Merge* find(Token a, Token b) const;
  Token find(std::string_view bytes) const;  // -1: no such entry
  void merge(std::string_view piece, std::vector<Token>& out) const;
  void merge_long(std::string_view piece, std::vector<Token>& out) const;

  bool ignore_merges_;
  std::string text_;                    // of all tokens, by id
  std::vector<std::uint32_t> offsets_;  // where each begins
  std::vector<bool> is_bytes_;
  std::vector<Token> words_;   // hash table of entries by bytes
  std::vector<Merge> merges_;  // hash table by pair
  Token byte_ids_[256];
  // What the merges make of an entry's own bytes: 0 not tried yet, 1 the entry, 2 something else.
  mutable std::unique_ptr<std::atomic<std::uint8_t>[]> reachable_;
};

}  // namespace minirl::data
