// minirl rl/micro_batch.h -- forward and backward over ragged sequences, cut into micro-batches by a token
// budget. Supervised training, policy updates and the scoring of anchors all pass through here.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "model/decoder.h"

namespace minirl::rl {

/// One sequence of which the completion is scored: log pi(completion_t | prompt, completion_<t).
struct ScoredSequence {
  std::span<const Token> prompt;      // at least one token
  std::span<const Token> completion;  // at least one token
};

struct MicroBatchOptions {
  double temperature = 1.0;
  Index tokens_per_micro = 4096;  // a memory setting: changes no bit (R10)
  bool entropy = false;
  Index vocabulary = 0;
};

/// Ranges [begin, end) of sequences whose tokens fit the budget, in order. Throws Error(usage) when one
/// sequence alone does not fit.
std::vector<std::pair<std::size_t, std::size_t>> cut_micro_batches(std::span<const ScoredSequence> sequences, Index tokens_per_micro);

/// Called once a sequence in order: from its log-probabilities (and entropies in nats, if asked for) it
/// writes d loss / d logp of every completion token, and d loss / d entropy into `dentropy` (zeroed; empty
/// unless asked for).
using SequenceGradient = std::function<void(std::size_t sequence, std::span<const float> logp, std::span<const float> entropy,
                                            std::span<float> dlogp, std::span<float> dentropy)>;

struct MicroBatchReport {
  Index micro_batches = 0, tokens = 0, largest_tokens = 0;
};

/// Adds the gradient of the loss to the parameters' accumulators, sequence by sequence in order: where the
/// cuts are changes no bit (R10).
MicroBatchReport accumulate_gradients(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                      const MicroBatchOptions& options, const SequenceGradient& gradient);

/// Log-probabilities of every completion token under the current weights, without gradients.
std::vector<std::vector<float>> score_sequences(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                                const MicroBatchOptions& options);

}  // namespace minirl::rl
