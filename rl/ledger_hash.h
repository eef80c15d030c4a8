// minirl rl/ledger_hash.h -- SHA-256 of the parts of a step, over bytes that docs/formats.md lays
// out so that anybody can compute them again. Numbers are little endian, nothing is padded. No hash
// depends on threads, micro-batches, instruction sets or the order in which work was done.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/build_info.h"
#include "rl/optimizer.h"
#include "rl/policy_update.h"
#include "rl/rollout.h"

namespace minirl::rl {

/// Of every group: prompt tokens and gold answer.
std::string hash_examples(std::span<const Group> groups);
/// Of worked examples: prompt tokens and completion tokens.
std::string hash_examples(std::span<const ScoredSequence> worked);
/// Of every completion: tokens, the bits of log mu, whether it ended with a stop token.
std::string hash_rollouts(std::span<const Group> groups);
/// Of every completion: its reward after truncation rules.
std::string hash_rewards(std::span<const Group> groups);
/// Of every completion: its advantage; and where tokens have advantages of their own, those.
std::string hash_advantages(std::span<const TrainItem> items);

/// Tensors larger than this are hashed in pieces, by several threads.
inline constexpr Index kHashPiece = Index{1} << 20;  // bytes
/// Names, types, shapes and values, in the order given.
std::string hash_tensors(std::span<const std::pair<std::string, Tensor>> tensors, const Exec& exec);
/// The values of all parameters as they are stored.
std::string hash_weights(const Params& params, const Exec& exec);
/// grad(0) of all parameters, fp32, after combine_grads().
std::string hash_gradients(Params& params, const Exec& exec);
/// The number of updates and all moments.
std::string hash_optimizer(Optimizer& optimizer, const Exec& exec);

/// Lines "name = value\n" of build_info(), or of what env.json or a ledger say about a build.
std::string hash_build(const NamedValues& build);

}  // namespace minirl::rl
