#include "model/decoder.h"

#include <algorithm>

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
  if (!(rms_norm_eps > 0)) { fail(Exit::usage, fmt::format("model.rms_norm_eps = {}: must be above 0", rms_norm_eps)); }
}

void Decoder::convert_params() {
  if (dtype_ == DType::f32) { return; }
  for (Param& p : params_.all()) { p.value = p.value.to(dtype_); }
}

const ops::RopeTable& Decoder::rope_table(Index needed) {
  if (!rope_.cosine.defined() || rope_.cosine.shape()[0] < needed) {
    if (needed > config_.max_positions) {
      fail(Exit::usage, fmt::format("a sequence of {} tokens is longer than the model's {} positions", needed, config_.max_positions),
           "lower rollout.max_new_tokens or raise model.max_positions");
    }
    const Index have = rope_.cosine.defined() ? rope_.cosine.shape()[0] : 0;
    const Index size = std::min(config_.max_positions, std::max({needed, 2 * have, Index{256}}));
    rope_ = ops::RopeTable::make(size, config_.head_dim, config_.rope_theta, dtype_);
  }
  return rope_;
}

Var Decoder::token_logp(const Pass& pass, const Ragged& batch, const Tensor& rows, const Tensor& targets, const ops::LogProbOptions& options) {
  return ops::token_logp(pass.tape, head_input(pass, hidden(pass, batch), rows), head(), targets, options);
}

std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, DType dtype, std::uint64_t seed) {
  return DecoderFamilies::find("model family", config.family)(config, dtype, seed);
}

}  // namespace minirl
