// minirl audit/parity.h -- promise 2, measured: the log-probability of a sampled token has the same
// bits however it is computed. Completions are sampled, then computed again in every way that is
// claimed not to matter, and compared as bits. docs/proof.md.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/sampler.h"

namespace minirl::audit {

struct ParityOptions {
  Index tokens = 500'000;  // comparisons, at least; whole rounds are made
  Index group_size = 8;    // completions of a prompt
  Index prompts = 8;       // of a round
  Index tokens_per_micro = 4096;
  SamplerOptions sampling;  // of the policy: temperature, vocabulary, end tokens, length
  std::uint64_t seed = 1;
};

/// The first bit that differed on an axis, and the op that made it.
struct ParityDifference {
  std::string variant = {};       // of the axis
  std::size_t sequence = 0;  // of its round
  Index round = 0;
  Index position = 0;  // of the token in its completion
  Token id = 0;        // sampled by the reference
  float recorded = 0, computed = 0;
  std::uint32_t ulp = 0;
  bool other_token = false;  // sampling again drew another token here
  // Of both ways run again with every op watched. Empty op: their ops agree (see `words`).
  std::string op = {};
  Index row = 0, element = 0;  // position in the sequence, element of the row
  float op_recorded = 0, op_computed = 0;
  std::string words = {};  // one sentence
};

/// One thing that must not matter, and what was compared over its variants.
struct ParityAxis {
  std::string name = {}, variants = {};
  Index compared = 0, differing = 0;
  std::uint32_t ulp_max = 0;
  std::optional<ParityDifference> first = {};
};

struct ParityReport {
  std::vector<ParityAxis> axes;
  Index rounds = 0, sequences = 0, sampled = 0;  // sampled: tokens
  double seconds = 0;
  Index compared() const;
  Index differing() const;
};

/// Prompts of a round, each at least one token.
using ParityPrompts = std::function<std::vector<std::vector<Token>>(Index round, Index count)>;

/// Samples with `sampler` and computes again with `trainer`: the same model, unless a test plants a
/// fault in one of them. Sampling and computing again run with `exec` except where an axis says
/// otherwise. Stops after the round in which something differed. `note` hears of every round.
ParityReport check_parity(Decoder& sampler, Decoder& trainer, const ParityPrompts& prompts,
                          const ParityOptions& options, const Exec& exec,
                          const std::function<void(const ParityReport&)>& note = {},
                          const std::function<bool()>& interrupted = {});

std::string parity_text(const ParityReport& report);
std::string parity_json(const ParityReport& report);

}  // namespace minirl::audit
