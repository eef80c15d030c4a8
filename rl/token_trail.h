// minirl rl/token_trail.h -- tokens/step-NNNNNN.jsonl.zst: what the loss made of every token and
// why, one line a token and update (docs/formats.md).
#pragma once
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "data/tokenizer.h"
#include "data/zstd_stream.h"
#include "rl/config.h"
#include "rl/policy_update.h"

namespace minirl::rl {

/// Where a sequence of an update stands.
struct TrailPlace {
  Index step = 0;      // from 1
  Index update = 0;    // from 0
  Index sequence = 0;  // of the step, from 0: the line of the rollout file
  Index group = 0, sample = 0;
};

/// One line a token, prompt included, each with its end. `algorithm`: the name that stands before
/// the reasons of the loss.
std::string trail_lines(const TrailPlace& place, const TrainItem& item,
                        const SequenceOutcome& outcome, const std::string& algorithm,
                        const data::Tokenizer& tokenizer);

/// Which sequences of a step a sampled trail holds: `wanted` of `count`, a function of seed and
/// step.
std::set<Index> trail_sample(std::uint64_t seed, Index step, Index count, Index wanted);

class TokenTrail {
 public:
  /// As [audit] of the config says; `folder` is that of the trails.
  TokenTrail(const Config& config, std::filesystem::path folder);
  ~TokenTrail();

  /// Before the first sequence.
  void set_tokenizer(const data::Tokenizer& tokenizer) { tokenizer_ = &tokenizer; }
  /// `index`: of the sequence within its update.
  void sequence(Index step, Index update, const TrainItem& item, const SequenceOutcome& outcome);
  /// The step is done: a full trail must add up to the logged loss (tripwire "token trail"), then
  /// the file appears.
  void finish(Index step, double loss);

 private:
  void begin(Index step);
  bool wanted(Index step) const;
  std::string mode_, algorithm_;
  std::filesystem::path folder_;
  Index every_, per_step_, per_update_, group_size_, updates_, sampled_;
  std::uint64_t seed_;
  const data::Tokenizer* tokenizer_ = nullptr;
  std::unique_ptr<data::ZstdWriter> file_;
  Index step_ = 0;
  std::set<Index> chosen_;
  std::vector<double> sums_;  // of the shares, one an update
};

}  // namespace minirl::rl
