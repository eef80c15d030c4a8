// minirl audit/rollout_file.h -- rollouts/step-NNNNNN.jsonl back to groups.
#pragma once
#include <filesystem>
#include <vector>

#include "rl/rollout.h"

namespace minirl::audit {

/// Prompts, gold answers, tokens, log mu (to the bit), rewards and advantages of a step. Throws
/// Error(mismatch) with file and line where the file is not what a run writes.
std::vector<rl::Group> read_rollouts(const std::filesystem::path& path);

}  // namespace minirl::audit
