// minirl data/tokenizer/pipeline.h -- what a tokenizer.json does around the merges: normalizer,
// pre-tokenizers, model settings, post-processor, decoder. What cannot be done exactly is refused.
#pragma once
#include <string>
#include <vector>

#include "data/tokenizer/split_pattern.h"
#include "data/tokenizer/tokenizer_file.h"

namespace minirl::data {

struct Pipeline {
  bool nfc = false;
  std::vector<SplitStage> stages;
  bool ignore_merges = false;         // a piece that is an entry is not cut
  std::vector<Token> prefix, suffix;  // of a single text
};

/// Throws Exit::usage that names `name`, the key and its value.
Pipeline read_pipeline(const TokenizerFile& file, const std::string& name);

}  // namespace minirl::data
