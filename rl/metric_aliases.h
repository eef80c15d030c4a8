// minirl rl/metric_aliases.h -- our metrics once more under the names of other tools' dashboards,
// where they mean the same thing; the table is in docs/formats.md.
#pragma once
#include <string>
#include <vector>

#include "rl/policy_metrics.h"

namespace minirl::rl {

/// The names of `style` ("none", "verl" or "trl") for those of `metrics` that have one there. An
/// alias is a sum of our metrics with signs; a term that is absent counts as 0, the first must be
/// there.
std::vector<Metric> metric_aliases(const std::string& style, const std::vector<Metric>& metrics);

struct MetricAlias {
  std::string name;                // there
  std::vector<std::string> terms;  // here; "-key" is subtracted
};
const std::vector<MetricAlias>& alias_table(const std::string& style);

}  // namespace minirl::rl
