// minirl rl/algorithm_registry.h -- losses by name. A loss registers itself from its own file in
// rl/algorithms/; a preset (rl/presets.h) is a loss with other defaults and is found the same way.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/param.h"
#include "core/registry.h"
#include "rl/algorithm.h"

namespace minirl::rl {

struct AlgorithmInfo {
  std::string name;
  std::string summary;  // one line
  std::string formula;  // plain text, with the labels of docs/math/policy_loss.md
  std::string page;     // docs/algorithms/<page>
  Traits traits;        // with default parameters
  std::vector<ParamSpec> params;
  std::unique_ptr<Algorithm> (*make)(const ParamMap&) = nullptr;  // complete and checked parameters
};

using Algorithms = Registry<AlgorithmInfo>;

/// `static const bool registered = register_algorithm({...});` in the loss' own file.
bool register_algorithm(AlgorithmInfo info);

/// All names that make_algorithm accepts: losses, then presets, each sorted.
std::vector<std::string> algorithm_names();

/// The declaration behind a name; for a preset the loss' declaration with the preset's defaults.
/// Fails with Exit::usage ("did you mean") for an unknown name.
AlgorithmInfo algorithm_info(std::string_view name);

/// Fills in defaults, checks the parameters and builds the loss. Fails with Exit::usage and says
/// what to do: an unknown name ("did you mean"), a missing mandatory value, a wrong type, a value
/// out of range.
std::unique_ptr<Algorithm> make_algorithm(std::string_view name, const ParamMap& params);

// Declarations of parameters, for the losses' own files.
ParamSpec real_spec(std::string name, std::optional<double> fallback, Range range, std::string doc,
                    std::string hint = {});
ParamSpec integer_spec(std::string name, std::optional<std::int64_t> fallback, Range range,
                       std::string doc);
ParamSpec boolean_spec(std::string name, bool fallback, std::string doc);
ParamSpec choice_spec(std::string name, std::string fallback, std::vector<std::string> choices,
                      std::string doc);
/// "rollout" or "recomputed".
ParamSpec anchor_spec(std::string name, std::string fallback, std::string doc);
/// An upper limit that can be "off" (infinity).
ParamSpec limit_spec(std::string name, double above, std::string doc);
Anchor anchor_param(const ParamMap& params, std::string_view name);

}  // namespace minirl::rl
