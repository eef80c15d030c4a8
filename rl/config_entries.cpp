#include "rl/config_entries.h"

#include "data/task.h"
#include "rl/algorithm_registry.h"

namespace minirl::rl {

std::vector<std::string> model_families() { return {"qwen3"}; }
std::vector<std::string> schedule_choices() { return {"constant", "linear", "cosine"}; }
std::vector<std::string> aggregation_choices() {
  return {"token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm", "seq-mean-token-sum", "token-sum"};
}
std::vector<std::string> advantage_choices() { return {"group-mean", "rloo"}; }
std::vector<std::string> reward_choices() { return {"boxed", "countdown"}; }

std::vector<minirl::ParamSpec> task_specs(const std::string& name) { return data::Tasks::find("task", name).params; }

std::vector<minirl::ParamSpec> algorithm_specs(const std::string& name) {
  std::vector<minirl::ParamSpec> out;
  for (const ParamSpec& p : algorithm_info(name).params) {
    minirl::ParamSpec spec;
    spec.name = p.name;
    spec.doc = p.unit.empty() ? p.doc : fmt::format("{} ({})", p.doc, p.unit);
    spec.choices = p.choices;
    spec.type = p.type == ParamType::number ? ScalarType::real : p.type == ParamType::integer ? ScalarType::integer
              : p.type == ParamType::boolean ? ScalarType::boolean : ScalarType::text;
    spec.range.min = p.range.lower;
    spec.range.max = p.range.upper;
    spec.range.min_open = p.range.lower_open;
    spec.range.infinity = p.range.upper == kInfinity && !p.range.upper_open;
    spec.range.max_open = p.range.upper_open && p.range.upper != kInfinity;
    if (p.fallback) { std::visit([&](const auto& v) { spec.fallback = Scalar(v); }, *p.fallback); }
    out.push_back(std::move(spec));
  }
  return out;
}

ParamMap algorithm_params(const minirl::ParamMap& params) {
  ParamMap out;
  for (const auto& [name, value] : params) { std::visit([&, key = name](const auto& v) { out[key] = ParamValue(v); }, value.value); }
  return out;
}

}  // namespace minirl::rl
