// minirl rl/checkpoint.h -- everything that the rest of a run is a function of, on disk.
// A checkpoint is a directory: a Hugging Face model directory (config.json, model.safetensors, tokenizer
// files) plus optimizer.safetensors and progress.json. It is written under a temporary name; progress.json,
// with size and SHA-256 of every other file, comes last; then the directory is renamed. So a directory with
// a final name is whole, and a damaged one is recognised.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "model/decoder.h"
#include "rl/optimizer.h"

namespace minirl::rl {

enum class Phase { pretrain, train };

/// Where a run stands. Data, sampling and schedules are functions of these counters and the seed.
struct Progress {
  Phase phase = Phase::pretrain;
  Index step = 0;                 // finished steps of this phase
  std::string results_hash;       // of the config keys that decide results
  std::string weights_hash;       // SHA-256 of the parameters, checked after loading
  Index examples = 0;             // training examples used so far (more than steps * prompts under dynamic sampling)
  std::string problems_hash;      // of the data files' problems (data::Task::fingerprint); empty: none, or not recorded
};

/// SHA-256 of a file of any size. Throws Error(usage) where it cannot be read to its end.
std::string file_hash(const std::filesystem::path& path);

/// "pretrain-000200" or "step-000040".
std::string checkpoint_name(const Progress& progress);

/// Named tensors, in order.
using StateTensors = std::vector<std::pair<std::string, Tensor>>;

/// Writes checkpoints/NAME and removes older ones beyond `keep` (0 = keep all; step-000000, the base model,
/// always stays). Throws Error(runtime) when the disk is full or the like; older checkpoints stay as they were.
std::filesystem::path save_checkpoint(const std::filesystem::path& checkpoints, const Progress& progress, const Decoder& model,
                                      Optimizer& optimizer, const data::Tokenizer& tokenizer, Index keep,
                                      const StateTensors& rollout_policy = {});

/// Reads progress.json and checks every file against it. Throws Error(usage) that says what is wrong.
Progress verify_checkpoint(const std::filesystem::path& directory);

struct Found {
  std::filesystem::path directory;
  Progress progress;
  std::vector<std::string> skipped;  // "step-000060: model.safetensors is cut short", newest first
};
/// The newest whole checkpoint, if any; with `last_step` none of a later train step.
Found newest_checkpoint(const std::filesystem::path& checkpoints, std::optional<Index> last_step = std::nullopt);

/// The rollout policy's own weights (rl/rollout_policy.h) of a checkpoint, in the order in which they were
/// given to save_checkpoint; empty if it has none.
StateTensors load_rollout_policy(const std::filesystem::path& directory);

/// Loads weights, moments and counters.
void load_checkpoint(const std::filesystem::path& directory, Decoder& model, Optimizer& optimizer);

}  // namespace minirl::rl
