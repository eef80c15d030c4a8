// minirl data/stream_decoder.h -- text of ids that arrive one by one. A character may be spread
// over several tokens: its bytes are held back until it is whole.
#pragma once
#include <string>
#include <utility>

#include "data/tokenizer.h"
#include "data/unicode.h"

namespace minirl::data {

class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_control = true)
      : tokenizer_(tokenizer), skip_control_(skip_control) {}

  /// What can be shown after `id`; all results and finish() together are the bytes of the whole
  /// list.
  std::string push(Token id) {
    held_ += tokenizer_.decode(std::span(&id, 1), skip_control_);
    const std::size_t tail = unicode::incomplete_tail(held_);
    std::string out = held_.substr(0, held_.size() - tail);
    held_.erase(0, out.size());
    return out;
  }
  /// The bytes of a character that was never completed.
  std::string finish() { return std::exchange(held_, {}); }

 private:
  const Tokenizer& tokenizer_;
  bool skip_control_;
  std::string held_;
};

}  // namespace minirl::data
