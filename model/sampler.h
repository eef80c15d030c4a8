// minirl model/sampler.h -- batched, continuous sampling through the training forward (R1, R7).
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/rng.h"
#include "model/decoder.h"

namespace minirl {

/// Caches of this size and above are given back to the system when sampling ends, and so are the blocks that
/// training left before it begins: the two then share the memory of the larger one.
inline constexpr Index kLargeCache = Index{256} << 20;  // bytes

struct SamplerOptions {
  double temperature = 1.0;     // the policy is softmax(logits / T), at sampling and in the loss (R6)
  bool greedy = false;          // most likely token; evaluation only
  Index max_new_tokens = 64;
  Index max_batch = 64;         // sequences decoded at once; changes no bit
  std::vector<Token> stop_ids;  // the first of these ends a completion and belongs to it
  Index vocabulary = 0;         // ids that may be sampled; 0 = all rows of the head
  Index topk = 0;               // record the K most likely ids of every position too
  // Evaluation only: tokens are drawn from the top_k most likely, then the fewest that hold top_p of the
  // probability. The recorded log mu are those of softmax(logits / T) without this filter.
  Index top_k = 0;              // 0: off
  double top_p = 1;             // 1: off
  bool filtered() const { return !greedy && (top_k > 0 || top_p < 1); }
  // Faults on purpose (rl/mismatch.h).
  double logit_noise = 0;         // standard deviation of the noise on every logit
  double record_temperature = 0;  // log mu at another temperature than the tokens'; 0: the same
};

/// A prompt and the keys of its samples: one completion a key. The prompt is computed once (its keys and
/// values are shared), with the bits that computing it for every sample would give.
struct SampleRequest {
  std::vector<Token> prompt;
  std::vector<rng::Key> keys;
};

struct Completion {
  std::vector<Token> ids;      // with the stop token if there was one
  std::vector<float> logp;     // log mu of each id at the sampling temperature
  std::vector<Token> topk_ids;   // (T, K) row-major, most likely first; empty unless asked for
  std::vector<float> topk_logp;  // (T, K) their log mu
  bool stopped = false;        // false: ended by max_new_tokens
};

struct SampleStats {
  Index prompt_tokens = 0, new_tokens = 0, decode_steps = 0;
};

/// result[i][j]: completion j of request i. A completion is a function of (weights, prompt, key, options)
/// alone: not of max_batch, the order of requests, the other requests or the thread count.
/// `interrupted` is polled once a step; when it says true, generation stops with Error(interrupted).
std::vector<std::vector<Completion>> sample(Decoder& model, std::span<const SampleRequest> requests, const SamplerOptions& options,
                                            const Exec& exec, SampleStats* stats = nullptr, const std::function<bool()>& interrupted = {});

}  // namespace minirl
