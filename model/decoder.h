// minirl model/decoder.h -- what a model family offers to the sampler and the trainer. There is one forward
// function (R1): sampling differs from training only in the Pass.
#pragma once
#include <memory>
#include <string>

#include "autograd/ops.h"
#include "model/kv_cache.h"
#include "model/params.h"
#include "model/ragged.h"

namespace minirl {

/// The only difference between sampling and training: whether the tape records and whether keys and
/// values are cached.
struct Pass {
  Tape& tape;
  KvCache* cache = nullptr;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  const ModelConfig& config() const { return config_; }
  DType dtype() const { return dtype_; }
  Params& params() { return params_; }
  const Params& params() const { return params_; }

  /// The residual stream after the last layer, before the final norm: (N, D).
  virtual Var hidden(const Pass& pass, const Ragged& batch) = 0;
  /// What the head sees: rows `rows` (M) i32 of the stream, normalised: (M, D).
  virtual Var head_input(const Pass& pass, const Var& hidden, const Tensor& rows) = 0;
  virtual ParamUse head() = 0;

  /// Does now what passes of up to `positions` would do at their first use: packs weights, grows tables. After it several
  /// threads may run passes that do not record, until a parameter changes.
  void prepare(const Exec& exec, Index positions);

  /// Memory for time: training keeps the input of every layer alone and computes the layer again in
  /// backward. Changes no bit.
  void set_recompute_layers(bool on) { recompute_layers_ = on; }
  bool recomputes_layers() const { return recompute_layers_; }

  /// log pi(target_m | tokens up to row_m) at the given temperature: (1, M), or (2, M) with entropies.
  Var token_logp(const Pass& pass, const Ragged& batch, const Tensor& rows, const Tensor& targets, const ops::LogProbOptions& options);

 protected:
  Decoder(ModelConfig config, DType dtype, Params params)
      : config_(std::move(config)), dtype_(dtype), params_(std::move(params)) { config_.validate(); }
  /// cos/sin for positions below `needed`, where `exec` computes; grows, which changes no bit of the entries that exist.
  const ops::RopeTable& rope_table(Index needed, const Exec& exec);

  ModelConfig config_;
  DType dtype_;  // of arithmetic
  Params params_;

 private:
  ops::RopeTable rope_;
  bool recompute_layers_ = false;
};

/// A decoder of config.family (model/family.h) with random weights (functions of the seed), f32 or f64.
std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, DType dtype, std::uint64_t seed);
/// ... with storage that a loader fills; matrices as `dtype`, or as bf16 in an f32 model.
std::unique_ptr<Decoder> make_empty_decoder(const ModelConfig& config, DType dtype, DType matrices);

}  // namespace minirl
