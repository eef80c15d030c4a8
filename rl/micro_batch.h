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
  // (T, K) further ids of every position to evaluate (MicroBatchOptions::topk), row-major.
  std::span<const Token> topk_ids = {};
};

struct MicroBatchOptions {
  double temperature = 1.0;
  Index tokens_per_micro = 4096;  // a memory setting: changes no bit (R10)
  bool entropy = false;
  Index vocabulary = 0;
  Index topk = 0;  // K of ScoredSequence::topk_ids
  Index chunk_rows = 0;  // ops::LogProbOptions: a memory setting, changes no bit
  Tape::Witness witness = {};  // of every op, for audits
};

/// Ranges [begin, end) of sequences whose tokens fit the budget, in order. Throws Error(usage) when one
/// sequence alone does not fit.
std::vector<std::pair<std::size_t, std::size_t>> cut_micro_batches(std::span<const ScoredSequence> sequences, Index tokens_per_micro);

/// What the forward pass says about one sequence of T completion tokens.
struct SequenceScores {
  std::span<const float> logp;       // (T) log pi
  std::span<const float> entropy;    // (T) nats; empty unless asked for
  std::span<const float> topk_logp;  // (T, K) log pi of topk_ids; empty unless asked for
};
/// What the loss answers: d loss / d logp and d loss / d entropy of every token (both zeroed before;
/// the second is empty unless entropies were asked for).
struct SequenceSeeds {
  std::span<float> dlogp, dentropy;
};
/// Called once a sequence, in order.
using SequenceGradient = std::function<void(std::size_t sequence, const SequenceScores& scores, const SequenceSeeds& seeds)>;

struct MicroBatchReport {
  Index micro_batches = 0, tokens = 0, largest_tokens = 0;
};

/// Adds the gradient of the loss to the parameters' accumulators, sequence by sequence in order: where the
/// cuts are changes no bit (R10).
MicroBatchReport accumulate_gradients(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                      const MicroBatchOptions& options, const SequenceGradient& gradient);

struct SequenceLogp {
  std::vector<float> logp;       // (T)
  std::vector<float> topk_logp;  // (T, K); empty unless asked for
};
/// Log-probabilities of every completion token under the current weights, without gradients.
std::vector<SequenceLogp> score_sequences(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                                const MicroBatchOptions& options);

/// The same from a model in f64, for checks: one vector a sequence.
std::vector<std::vector<double>> score_sequences_f64(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                                     const MicroBatchOptions& options);

}  // namespace minirl::rl
