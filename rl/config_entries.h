// minirl rl/config_entries.h -- the names that a configuration may use for registered things.
#pragma once
#include <string>
#include <vector>

#include "core/param.h"

namespace minirl::rl {

std::vector<std::string> model_families();
std::vector<std::string> schedule_choices();
std::vector<std::string> aggregation_choices();
std::vector<std::string> advantage_choices();
std::vector<std::string> reward_choices();

/// Parameters that a task declares; throws Exit::usage for an unknown name.
std::vector<minirl::ParamSpec> task_specs(const std::string& name);
/// Parameters that an algorithm or preset declares; throws Exit::usage for an unknown name.
std::vector<minirl::ParamSpec> algorithm_specs(const std::string& name);

}  // namespace minirl::rl
