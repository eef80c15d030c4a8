#include "rl/algorithm_registry.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "rl/presets.h"

namespace minirl::rl {
namespace {

ParamMap complete(const AlgorithmInfo& info, ParamMap params) {
  std::vector<std::string> known;
  std::string list;
  for (const auto& spec : info.params) {
    known.push_back(spec.name);
    list += (list.empty() ? "" : ", ") + spec.name;
  }
  for (const auto& [name, value] : params) {
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    const std::string near = nearest_name(name, known);
    fail(Exit::usage, fmt::format("{}: unknown parameter '{}'", info.name, name),
         (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + "known: " + list);
  }
  bind_params(info.name, info.params, params);
  return params;
}

}  // namespace

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
        spec.fallback = value.value;
        found = true;
      }
    }
    MINIRL_CHECK(found, "preset '{}' sets '{}', which '{}' does not have", preset->name, key,
                 preset->loss);
  }
  info.traits = info.make(complete(info, {}))->traits();
  return info;
}

std::unique_ptr<Algorithm> make_algorithm(std::string_view name, const ParamMap& params) {
  const AlgorithmInfo info = algorithm_info(name);
  auto algorithm = info.make(complete(info, params));
  set_algorithm_name(*algorithm, info.name);
  return algorithm;
}

ParamSpec real_spec(std::string name, std::optional<double> fallback, Range range, std::string doc,
                    std::string hint) {
  ParamSpec spec{.name = std::move(name), .type = ScalarType::real, .doc = std::move(doc)};
  if (fallback) {
    spec.fallback = *fallback;
  }
  spec.range = std::move(range);
  spec.hint = std::move(hint);
  return spec;
}

ParamSpec integer_spec(std::string name, std::optional<std::int64_t> fallback, Range range,
                       std::string doc) {
  ParamSpec spec{.name = std::move(name), .type = ScalarType::integer, .doc = std::move(doc)};
  if (fallback) {
    spec.fallback = *fallback;
  }
  spec.range = std::move(range);
  return spec;
}

ParamSpec boolean_spec(std::string name, bool fallback, std::string doc) {
  ParamSpec spec{.name = std::move(name), .type = ScalarType::boolean, .doc = std::move(doc)};
  spec.fallback = fallback;
  return spec;
}

ParamSpec choice_spec(std::string name, std::string fallback, std::vector<std::string> choices,
                      std::string doc) {
  ParamSpec spec{.name = std::move(name), .type = ScalarType::text, .doc = std::move(doc)};
  spec.fallback = std::move(fallback);
  spec.choices = std::move(choices);
  return spec;
}

ParamSpec anchor_spec(std::string name, std::string fallback, std::string doc) {
  return choice_spec(
      std::move(name), std::move(fallback), {"rollout", "recomputed"},
      std::move(doc) + ": mu (rollout) or pi_old (recomputed: one more forward pass per rollout)");
}

ParamSpec limit_spec(std::string name, double lowest, std::string doc) {
  const double infinity = std::numeric_limits<double>::infinity();
  return real_spec(std::move(name), infinity, or_word(or_infinity(above(lowest)), "off", infinity),
                   std::move(doc));
}

Anchor anchor_param(const ParamMap& params, std::string_view name) {
  return anchor_from_name(text_param(params, name));
}

}  // namespace minirl::rl
