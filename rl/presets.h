// minirl rl/presets.h -- the field's names for a loss together with its surroundings. A preset
// changes no formula: it sets defaults of a loss, and says which advantage and aggregation its
// paper uses.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/param.h"
#include "rl/advantage.h"
#include "rl/aggregation.h"

namespace minirl::rl {

struct Preset {
  std::string name = {};
  std::string loss = {};  // the registered loss behind it
  std::string summary = {};
  ParamMap params = {};  // defaults that differ from the loss'
  // What the source used around the loss; the config applies them unless the user says otherwise.
  std::optional<AdvantageEstimator> advantage = {};
  std::optional<bool> normalize_adv_by_std = {};
  std::optional<AggMode> aggregation = {};
  std::string notes = {};  // what else the source does (KL, dynamic sampling, ...)
  std::string page = {};   // docs/algorithms/<page>
};

const std::vector<Preset>& presets();              // sorted by name
const Preset* find_preset(std::string_view name);  // nullptr if there is none

}  // namespace minirl::rl
