// minirl rl/config_entries.h -- the names that a configuration may use for registered things, and
// the parameters that these declare.
#pragma once
#include <string>
#include <vector>

#include "core/param.h"

namespace minirl::rl {

std::vector<std::string> model_families();
/// "" and the names of model/model_presets.h.
std::vector<std::string> preset_choices();
std::vector<std::string> schedule_choices();
std::vector<std::string> advantage_choices();
std::vector<std::string> reward_choices();
std::vector<std::string> template_choices();

/// Parameters of a task or an algorithm (or preset); both throw Exit::usage for an unknown name.
std::vector<ParamSpec> task_specs(const std::string& name);
std::vector<ParamSpec> algorithm_specs(const std::string& name);

}  // namespace minirl::rl
