// minirl audit/speed.h -- how fast a model trains and samples here, and what share of the machine that is.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/sampler.h"
#include "rl/optimizer.h"

namespace minirl::audit {

/// Useful floating-point operations of one token's forward pass that sees `context` keys: 2 a weight of every
/// product and 4 an element of query and key. Backward costs twice that.
double forward_flop(const ModelConfig& config, double context);

/// Bytes that one decoding step of `batch` sequences must read: every fp32 weight once, and the keys and values of
/// `context` positions of every sequence.
double decode_bytes(const ModelConfig& config, Index batch, double context);

/// Fixed text for speed: a function of the arguments.
std::vector<Token> speed_tokens(Index count, std::uint64_t seed, Index vocabulary);

/// Training steps of one shape: forward, loss -mean log pi, backward, AdamW.
class TrainSpeed {
 public:
  TrainSpeed(Decoder& model, Index sequences, Index length);
  /// One step.
  void step(const Exec& exec);
  double tokens() const { return static_cast<double>(text_.size()) * length_; }
  double flop() const;
  /// Mean of -log pi over the batch under the weights as they are, without a step.
  double loss(const Exec& exec);

 private:
  Decoder& model_;
  double length_;
  std::vector<std::vector<Token>> text_;
  std::unique_ptr<rl::Optimizer> optimizer_;
};

/// Sampling of one shape: `batch` prompts of `prompt` tokens, all different, `new_tokens` each, none ends early.
class SampleSpeed {
 public:
  SampleSpeed(Decoder& model, Index batch, Index prompt, Index new_tokens);
  /// The same with one prompt for all: a group.
  static SampleSpeed group(Decoder& model, Index size, Index prompt, Index new_tokens);
  void run(const Exec& exec);
  double tokens() const { return static_cast<double>(batch_ * new_tokens_); }
  double flop() const;
  double bytes() const;

 private:
  Decoder& model_;
  Index batch_, prompt_, new_tokens_;
  std::vector<SampleRequest> requests_;
};

/// Median, and the borders of the middle half.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread_of(std::vector<double> values);

}  // namespace minirl::audit
