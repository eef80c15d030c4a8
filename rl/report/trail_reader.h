// minirl rl/report/trail_reader.h -- a few completions of a token trail (tokens/), read back for
// people.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"

namespace minirl::rl::report {

/// One line of a trail; docs/formats.md says what the fields are. Of a token of the prompt only id,
/// text and why are set.
struct TrailToken {
  bool prompt = false;
  bool masked = false;  // the loss set its gradient to 0
  Index id = 0;
  std::string text;
  double mu = 0, pi = 0, ratio = 1, tv = 0, kl = 0, divergence = 0, advantage = 0, weight = 0,
         gradient = 0, share = 0, entropy = 0;
  std::vector<std::string> why;  // every mask and remark in words
};

struct TrailSequence {
  Index step = 0, update = 0, sequence = 0, group = 0, sample = 0;
  std::vector<TrailToken> tokens;
  Index prompt_left_out = 0, left_out = 0;  // tokens at the prompt's start, at the completion's end
  // Of the same line of the rollout file; empty where that is not there.
  std::string answer, extracted, verdict;
  bool judged = false;
  double reward = 0;
};

struct TrailExcerpt {
  std::vector<TrailSequence> sequences;
  std::size_t recorded = 0;  // sequences in the file
  std::string note;          // what could not be read; empty: nothing
};

/// At most `wanted` sequences of the file, evenly spread over it, each with the last
/// `prompt_tokens` of its prompt and the first `tokens` of its completion. Never throws for what
/// the file holds: a damaged one is told in `note`.
TrailExcerpt read_trail(const std::filesystem::path& file, std::size_t wanted,
                        std::size_t prompt_tokens, std::size_t tokens);

}  // namespace minirl::rl::report
