#include "rl/config_entries.h"

#include <cmath>

#include "data/task.h"
#include "model/decoder.h"
#include "rl/advantage.h"
#include "rl/algorithm_registry.h"
#include "rl/reward.h"

namespace minirl::rl {

std::vector<std::string> model_families() { return DecoderFamilies::names(); }
std::vector<std::string> schedule_choices() { return {"constant", "linear", "cosine"}; }
std::vector<std::string> advantage_choices() { return estimator_names(); }
std::vector<std::string> reward_choices() { return Rewards::names(); }

std::vector<minirl::ParamSpec> task_specs(const std::string& name) { return data::Tasks::find("task", name).params; }

std::vector<minirl::ParamSpec> algorithm_specs(const std::string& name) {
  std::vector<minirl::ParamSpec> out;
  for (const rl::ParamSpec& p : algorithm_info(name).params) {
    minirl::ParamSpec spec;
    spec.name = p.name;
    spec.doc = p.unit.empty() || p.unit == "1" ? p.doc : fmt::format("{} ({})", p.doc, p.unit);
    spec.choices = p.choices;
    switch (p.type) {
      case ParamType::number: spec.type = ScalarType::real; break;
      case ParamType::integer: spec.type = ScalarType::integer; break;
      case ParamType::boolean: spec.type = ScalarType::boolean; break;
      case ParamType::choice: spec.type = ScalarType::text; break;
    }
    spec.range.min = p.range.lower;
    spec.range.max = p.range.upper;
    spec.range.min_open = p.range.lower_open;
    spec.range.max_open = p.range.upper_open;
    spec.range.infinity = std::isinf(p.range.upper) && !p.range.upper_open;
    if (p.fallback) {
      std::visit([&spec](const auto& v) { spec.fallback = Scalar(v); }, *p.fallback);
    }
    out.push_back(std::move(spec));
  }
  return out;
}

rl::ParamMap algorithm_params(const minirl::ParamMap& params) {
  rl::ParamMap out;
  for (const auto& [name, value] : params) {
    std::visit([&out, &key = name](const auto& v) { out[key] = v; }, value.value);
  }
  return out;
}

}  // namespace minirl::rl
