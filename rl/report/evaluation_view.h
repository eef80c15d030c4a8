// minirl rl/report/evaluation_view.h -- held-out problems: the numbers with their intervals, and
// what the policy said before and after.
#pragma once
#include <string>
#include <vector>

#include "rl/report/run_view.h"

namespace minirl::rl::report {

/// A table of every evaluation of one run, or of the first and last one of each of several.
std::string evaluation_table(const std::vector<const RunView*>& runs);

/// The first problems with the first completion of the first and of the last evaluation, side by
/// side.
std::string completions(const RunView& run);
std::string completions_style();

}  // namespace minirl::rl::report
