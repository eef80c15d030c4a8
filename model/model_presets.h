// minirl model/model_presets.h -- shapes of published models by name, for random weights and for plans
// without weights.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/model_config.h"

namespace minirl {

struct ModelPreset {
  std::string name;
  std::string source;  // where the shape was published
  ModelConfig config;
};

const std::vector<ModelPreset>& model_presets();
/// Throws Error(usage) with the names that there are.
const ModelPreset& find_model_preset(std::string_view name);

}  // namespace minirl
