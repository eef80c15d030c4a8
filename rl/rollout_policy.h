// minirl rl/rollout_policy.h -- whose weights sample. Normally the live ones, the very same tensors
// (R1); an averaged or, on purpose, a stale or rounded copy where the config asks for it.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/decoder.h"
#include "rl/mismatch.h"

namespace minirl::rl {

class RolloutPolicy {
 public:
  /// `ema_decay` d in [0, 1): the rollout weights are the average
  ///   a <- d a + (1 - d) theta after every optimizer update, a = theta at the start;   (ema.1)
  /// 0: no average.
  RolloutPolicy(Decoder& live, const MismatchOptions& mismatch, double ema_decay);

  /// Do rollouts use the live weights and record the log-probability that training computes? Only
  /// then must the first ratio be 1 to the bit.
  bool exact() const { return exact_; }
  /// The model to sample from. Copies are brought up to date first.
  Decoder& model();
  /// Tell it after every optimizer update (and after weights were loaded: restart()).
  void updated();
  /// Forgets averages and old weights: the live weights are the first.
  void restart();

  /// What a resumed run needs, (name, tensor) in a fixed order; empty for `exact`. Same names after
  /// the same number of updates.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Takes it back. Throws Error(usage) where names or shapes do not fit.
  void load_state(const std::vector<std::pair<std::string, Tensor>>& state);

 private:
  using Snapshot = std::vector<Tensor>;  // in the order of the parameters
  Snapshot snapshot() const;

  Decoder& live_;
  MismatchOptions mismatch_;
  double decay_;
  bool exact_;
  std::unique_ptr<Decoder> copy_;
  bool fresh_ = false;            // copy_ is up to date
  Snapshot average_;              // where decay_ > 0
  std::deque<Snapshot> history_;  // newest last, at most staleness + 1
};

}  // namespace minirl::rl
