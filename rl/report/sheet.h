// minirl rl/report/sheet.h -- what was computed, what it is identified by, and what it cost.
#pragma once
#include <string>
#include <vector>

#include "rl/report/run_view.h"

namespace minirl::rl::report {

/// The semantics sheet: loss, masks, aggregation, advantage, ... in words, from the run's settings.
std::string semantics(const RunView& run);
/// Hashes of configuration, ledger, weights; the build. One column a run.
std::string hashes(const std::vector<const RunView*>& runs);
/// Time, tokens, memory, machine. One column a run.
std::string cost(const std::vector<const RunView*>& runs);
/// The resolved configuration and env.json, as they are.
std::string sources(const RunView& run);

}  // namespace minirl::rl::report
