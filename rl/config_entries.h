// minirl rl/config_entries.h -- the names that a configuration may use for registered things, and the
// parameters that these declare.
#pragma once
#include <string>
#include <vector>

#include "core/param.h"
#include "rl/parameters.h"

namespace minirl::rl {

std::vector<std::string> model_families();
std::vector<std::string> schedule_choices();
std::vector<std::string> advantage_choices();
std::vector<std::string> reward_choices();

/// Parameters of a task or an algorithm (or preset); both throw Exit::usage for an unknown name.
std::vector<minirl::ParamSpec> task_specs(const std::string& name);
std::vector<minirl::ParamSpec> algorithm_specs(const std::string& name);

/// The values of a configuration as make_algorithm takes them.
rl::ParamMap algorithm_params(const minirl::ParamMap& params);

}  // namespace minirl::rl
