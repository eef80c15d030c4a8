// minirl rl/model_shape.h -- which model a configuration means: that of a checkpoint, a preset, or the
// keys of [model].
#pragma once
#include "rl/config.h"

namespace minirl::rl {

/// Makes the shape keys of `loaded` those of the model that will run. A preset gives defaults for keys
/// that nobody wrote; a checkpoint that is there decides all of them, and warns where somebody wrote
/// otherwise; one that is not there is no error yet. Throws Exit::usage for an unknown preset or a config.json
/// that cannot be used.
void settle_model_shape(LoadedConfig& loaded);

}  // namespace minirl::rl
