// minirl rl/report/curves.h -- the figures of a report: one run's curves, or several runs laid over
// each other, runs that differ only in their seed as a band.
#pragma once
#include <string>
#include <vector>

#include "rl/report/run_view.h"

namespace minirl::rl::report {

/// All figures that the runs have numbers for, as HTML. One group: its curves; several: one curve a
/// group, one figure a metric.
std::string curves(const std::vector<RunGroup>& groups);

}  // namespace minirl::rl::report
