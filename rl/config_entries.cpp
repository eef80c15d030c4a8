#include "rl/config_entries.h"

#include "data/chat_template.h"
#include "data/task.h"
#include "model/family.h"
#include "model/model_presets.h"
#include "rl/advantage.h"
#include "rl/algorithm_registry.h"
#include "rl/reward.h"

namespace minirl::rl {

std::vector<std::string> model_families() {
  return Families::names();
}
std::vector<std::string> preset_choices() {
  std::vector<std::string> out = {""};
  for (const ModelPreset& p : model_presets()) {
    out.push_back(p.name);
  }
  return out;
}
std::vector<std::string> schedule_choices() {
  return {"constant", "linear", "cosine"};
}
std::vector<std::string> advantage_choices() {
  return batch_estimator_names();
}
std::vector<std::string> reward_choices() {
  std::vector<std::string> out;
  for (const std::string& name : Rewards::names()) {
    if (!Rewards::find("reward", name).of_form) {
      out.push_back(name);
    }
  }
  return out;
}

std::vector<std::string> template_choices() {
  std::vector<std::string> out = data::ChatTemplates::names();
  out.insert(out.begin(), "auto");
  return out;
}

std::vector<ParamSpec> task_specs(const std::string& name) {
  return data::Tasks::find("task", name).params;
}

std::vector<ParamSpec> algorithm_specs(const std::string& name) {
  return algorithm_info(name).params;
}

}  // namespace minirl::rl
