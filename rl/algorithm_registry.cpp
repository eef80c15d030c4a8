#include "rl/algorithm_registry.h"

#include <utility>

#include "rl/presets.h"

namespace minirl::rl {

bool register_algorithm(AlgorithmInfo info) {
  MINIRL_CHECK(info.make != nullptr, "'{}' has no factory", info.name);
  const std::string name = info.name;
  return Algorithms::add(name, std::move(info));
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = Algorithms::names();
  for (const auto& preset : presets()) {
    names.push_back(preset.name);
  }
  return names;
}

AlgorithmInfo algorithm_info(std::string_view name) {
  if (Algorithms::contains(name)) {
    return Algorithms::find("algorithm", name);
  }
  const Preset* preset = find_preset(name);
  if (preset == nullptr) {
    const auto known = algorithm_names();
    std::string list;
    for (const auto& k : known) {
      list += (list.empty() ? "" : ", ") + k;
    }
    const std::string near = nearest_name(name, known);
    fail(Exit::usage, fmt::format("unknown algorithm '{}'", name),
         near.empty() ? "known: " + list : fmt::format("did you mean '{}'? known: {}", near, list));
  }
  AlgorithmInfo info = Algorithms::find("algorithm", preset->loss);
  info.name = preset->name;
  info.summary = preset->summary;
  if (!preset->page.empty()) {
    info.page = preset->page;
  }
  for (const auto& [key, value] : preset->params) {
    bool found = false;
    for (auto& spec : info.params) {
      if (spec.name == key) {
        spec.fallback = value;
        found = true;
      }
    }
    MINIRL_CHECK(found, "preset '{}' sets '{}', which '{}' does not have", preset->name, key,
                 preset->loss);
  }
  info.traits = info.make(resolve_params(info.name, info.params, {}))->traits();
  return info;
}

std::unique_ptr<Algorithm> make_algorithm(std::string_view name, const ParamMap& params) {
  const AlgorithmInfo info = algorithm_info(name);
  auto algorithm = info.make(resolve_params(info.name, info.params, params));
  set_algorithm_name(*algorithm, info.name);
  return algorithm;
}

}  // namespace minirl::rl
