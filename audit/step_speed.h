// minirl audit/step_speed.h -- the time of whole steps of a run: sampling, rewards, advantages, updates, and what is
// written and checked about them.
#pragma once
#include <filesystem>
#include <functional>

#include "audit/speed.h"
#include "rl/config.h"

namespace minirl::audit {

struct StepSpeed {
  Index steps = 0;            // that were measured
  Spread seconds;             // of a step as `minirl train` makes it, files included
  Spread silent_seconds;      // of the same step with nobody watching: no ledger, trail or files; 0 unless asked for
  Spread watched_share;       // (seconds - silent) / seconds, pair by pair
  double tripwire_seconds = 0;  // of a step: every check of rl/tripwires.h, and audit/logp_ulp_max
  double sample_tokens_per_s = 0, train_tokens_per_s = 0;  // medians
  Index completions = 0, updates = 0;                      // a step
};

struct StepOptions {
  Index steps = 5;
  bool silent_too = false;  // each step twice, in alternation, with the same bits: what watching costs
  std::function<bool()> interrupted = {};
};

/// `loaded` without pretraining, from the weights that it starts from; run files go to a folder below `scratch` that
/// is removed. One step more is made first and not counted.
StepSpeed measure_steps(const rl::LoadedConfig& loaded, const ConfigSource& source, const std::filesystem::path& scratch,
                        const StepOptions& options);

}  // namespace minirl::audit
