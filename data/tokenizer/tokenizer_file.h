// minirl data/tokenizer/tokenizer_file.h -- tokenizer.json of the Hugging Face package
// `tokenizers`, read without building the 300,000 values of its vocabulary as a document.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/tokenizer.h"

namespace minirl::data {

/// An entry of "added_tokens": found in texts before anything else is done with them.
struct AddedToken {
  Token id = 0;
  std::string content;
  bool single_word = false;  // not inside of a word
  bool lstrip = false;       // swallows the whitespace before it
  bool rstrip = false;       // ... and behind it
  bool normalized = true;    // is looked for after normalisation
  bool special = false;      // a control token
};

struct TokenizerFile {
  std::vector<std::pair<std::string, Token>> vocab;         // as written, in the file's order
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  std::vector<AddedToken> added;
  nlohmann::json rest;  // everything else: normalizer, pre_tokenizer, model's settings, ...
};

/// Reads the text of a tokenizer.json; `name` is what errors call it. Checks syntax and types, that
/// ids are unique, below 2^24 and without a gap. Throws Exit::usage.
TokenizerFile parse_tokenizer_json(std::string_view text, const std::string& name);

}  // namespace minirl::data
