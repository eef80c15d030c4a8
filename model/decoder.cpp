#include "model/decoder.h"

#include <algorithm>

#include "model/family.h"
#include "model/rope_scaling.h"

namespace minirl {

void ModelConfig::validate() const {
  const auto positive = [](Index value, const char* field) {
    if (value <= 0) { fail(Exit::usage, fmt::format("model.{} = {}: must be at least 1", field, value)); }
  };
  positive(vocab_size, "vocab_size");
  positive(hidden_size, "hidden_size");
  positive(num_layers, "num_layers");
  positive(num_heads, "num_heads");
  positive(num_kv_heads, "num_kv_heads");
  positive(head_dim, "head_dim");
  positive(ffn_size, "ffn_size");
  positive(max_positions, "max_positions");
  if (num_heads % num_kv_heads != 0) {
    fail(Exit::usage, fmt::format("model.num_heads = {} is not a multiple of model.num_kv_heads = {}", num_heads, num_kv_heads));
  }
  if (head_dim % 2 != 0 || head_dim > 256) { fail(Exit::usage, fmt::format("model.head_dim = {}: must be even and at most 256", head_dim)); }
  if (!(rope_theta > 1)) { fail(Exit::usage, fmt::format("model.rope_theta = {}: must be above 1", rope_theta)); }
  const RopeScaling& r = rope_scaling;
  if (r.kind != RopeScaling::Kind::none && !(r.factor >= 1)) { fail(Exit::usage, fmt::format("rope_scaling.factor = {}: must be at least 1", r.factor)); }
  if ((r.kind == RopeScaling::Kind::llama3 || r.kind == RopeScaling::Kind::yarn) && r.original_max_positions < 1) {
    fail(Exit::usage, fmt::format("rope_scaling.original_max_position_embeddings = {}: must be at least 1", r.original_max_positions));
  }
  if (r.kind == RopeScaling::Kind::llama3 && !(r.low_freq_factor > 0 && r.high_freq_factor > r.low_freq_factor)) {
    fail(Exit::usage, fmt::format("rope_scaling: low_freq_factor = {} must be above 0 and below high_freq_factor = {}", r.low_freq_factor, r.high_freq_factor));
  }
  if (r.kind == RopeScaling::Kind::yarn && !(r.beta_slow > 0 && r.beta_fast > r.beta_slow)) {
    fail(Exit::usage, fmt::format("rope_scaling: beta_slow = {} must be above 0 and below beta_fast = {}", r.beta_slow, r.beta_fast));
  }
  if (!(rms_norm_eps > 0)) { fail(Exit::usage, fmt::format("model.rms_norm_eps = {}: must be above 0", rms_norm_eps)); }
}

const ops::RopeTable& Decoder::rope_table(Index needed, const Exec& exec) {
  if (!rope_.cosine.defined() || rope_.cosine.shape()[0] < needed) {
    if (needed > config_.max_positions) {
      fail(Exit::usage, fmt::format("a sequence of {} tokens is longer than the model's {} positions", needed, config_.max_positions),
           "lower rollout.max_new_tokens or raise model.max_positions");
    }
    const Index have = rope_.cosine.defined() ? rope_.cosine.shape()[0] : 0;
    const Index size = std::min(config_.max_positions, std::max({needed, 2 * have, Index{256}}));
    const RopeFrequencies rope = rope_frequencies(config_);
    rope_ = ops::RopeTable::make(size, rope.frequency, rope.magnitude, dtype_);
  }
  const bool on_device = exec.device.kind != DeviceKind::cpu;
  if (rope_.cosine.on_device() != on_device) { rope_ = rope_.near(exec); }  // else unchanged: threads may read it
  return rope_;
}

void Decoder::prepare(const Exec& exec, Index positions) {
  rope_table(std::min(positions, config_.max_positions), exec);
  for (Param& p : params_.all()) {
    if (p.value.shape().rank == 2) { p.packed_forward(exec); }
  }
}

Var Decoder::token_logp(const Pass& pass, const Ragged& batch, const Tensor& rows, const Tensor& targets, const ops::LogProbOptions& options) {
  return ops::token_logp(pass.tape, head_input(pass, hidden(pass, batch), rows), head(), targets, options);
}

std::vector<WeightSpec> model_weights(const ModelConfig& config) {
  const Family& family = Families::find("model family", config.family);
  config.validate();
  return family.weights(config);
}

Index model_parameter_count(const ModelConfig& config) {
  Index n = 0;
  for (const WeightSpec& w : model_weights(config)) { n += w.shape.numel(); }
  return n;
}

std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, DType dtype, std::uint64_t seed) {
  const auto specs = model_weights(config);
  return Families::find("model family", config.family).make(config, dtype, Params::random(specs, dtype, config.initializer_range, seed));
}

std::unique_ptr<Decoder> make_empty_decoder(const ModelConfig& config, DType dtype, DType matrices) {
  const auto specs = model_weights(config);
  return Families::find("model family", config.family).make(config, dtype, Params::uninitialised(specs, dtype, matrices));
}

}  // namespace minirl
