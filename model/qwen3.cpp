// minirl model/qwen3.cpp -- the Qwen3 decoder as published (Qwen3 technical report, 2025; the Hugging Face
// module of the same name is the reference for layouts and names):
//   x  = embedding(ids)
//   each layer:  x += o( attention( rope(norm_k(q)), rope(norm_k(k)), v ) )   of norm(x)
//                x += down( silu(gate) * up )                                 of norm(x)
//   logits = head(norm(x))
// q and k are RMS-normalised per head before the rotation; no biases; head_dim is independent of hidden_size.
#include <algorithm>

#include "model/decoder.h"

namespace minirl {
namespace {

class Qwen3 final : public Decoder {
 public:
  Qwen3(const ModelConfig& config, DType dtype, std::uint64_t seed) : Decoder(config, dtype) {
    const ModelConfig& c = config_;
    const double std = c.initializer_range;
    embed_ = &params_.add_normal("model.embed_tokens.weight", {c.vocab_size, c.hidden_size}, std, seed);
    for (Index l = 0; l < c.num_layers; ++l) {
      const auto matrix = [&](const char* part, Index out, Index in) {
        return &params_.add_normal(fmt::format("model.layers.{}.{}.weight", l, part), {out, in}, std, seed);
      };
      const auto norm = [&](const char* part, Index size) { return &params_.add_ones(fmt::format("model.layers.{}.{}.weight", l, part), {size}); };
      Layer layer{};
      layer.input_norm = norm("input_layernorm", c.hidden_size);
      layer.q = matrix("self_attn.q_proj", c.q_size(), c.hidden_size);
      layer.k = matrix("self_attn.k_proj", c.kv_size(), c.hidden_size);
      layer.v = matrix("self_attn.v_proj", c.kv_size(), c.hidden_size);
      layer.o = matrix("self_attn.o_proj", c.hidden_size, c.q_size());
      layer.q_norm = norm("self_attn.q_norm", c.head_dim);
      layer.k_norm = norm("self_attn.k_norm", c.head_dim);
      layer.post_norm = norm("post_attention_layernorm", c.hidden_size);
      layer.gate = matrix("mlp.gate_proj", c.ffn_size, c.hidden_size);
      layer.up = matrix("mlp.up_proj", c.ffn_size, c.hidden_size);
      layer.down = matrix("mlp.down_proj", c.hidden_size, c.ffn_size);
      layers_.push_back(layer);
    }
    final_norm_ = &params_.add_ones("model.norm.weight", {c.hidden_size});
    if (!c.tie_word_embeddings) { head_ = &params_.add_normal("lm_head.weight", {c.vocab_size, c.hidden_size}, std, seed); }
    convert_params();
  }

  Var hidden(const Pass& pass, const Ragged& batch) override {
    Index longest = 0;
    for (const auto& run : batch.plan->runs) { longest = std::max(longest, run.first_position + run.rows); }
    const ops::RopeTable& rope = rope_table(longest);
    Tape& tape = pass.tape;
    Var x = ops::embedding(tape, {embed_}, batch.ids);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Layer& w = layers_[l];
      const Var normed = ops::rmsnorm(tape, x, {w.input_norm}, config_.rms_norm_eps);
      x = ops::add(tape, x, attention(pass, batch, rope, w, static_cast<Index>(l), normed));
      const Var normed_again = ops::rmsnorm(tape, x, {w.post_norm}, config_.rms_norm_eps);
      x = ops::add(tape, x, mlp(tape, w, normed_again));
    }
    return x;
  }

  Var head_input(const Pass& pass, const Var& hidden, const Tensor& rows) override {
    return ops::rmsnorm(pass.tape, ops::gather_rows(pass.tape, hidden, rows), {final_norm_}, config_.rms_norm_eps);
  }

  // A tied head is a second use of the embedding table: see Param.
  ParamUse head() override { return head_ != nullptr ? ParamUse{head_} : ParamUse{embed_, 1}; }

 private:
  struct Layer {
    Param *input_norm, *q, *k, *v, *o, *q_norm, *k_norm, *post_norm, *gate, *up, *down;
  };

  Var attention(const Pass& pass, const Ragged& batch, const ops::RopeTable& rope, const Layer& w, Index index, const Var& x) {
    Tape& tape = pass.tape;
    const Index N = batch.tokens();
    const auto heads = [&](Param* weight, Index count) { return ops::view(tape, ops::linear(tape, x, {weight}), {N, count, config_.head_dim}); };
    const auto rotated = [&](const Var& v, Param* norm) { return ops::rope(tape, ops::rmsnorm(tape, v, {norm}, config_.rms_norm_eps), rope, batch.positions); };
    const Var q = rotated(heads(w.q, config_.num_heads), w.q_norm);
    const Var k = rotated(heads(w.k, config_.num_kv_heads), w.k_norm);
    const Var v = heads(w.v, config_.num_kv_heads);
    const double scale = 1.0 / fmath::sqrt(static_cast<double>(config_.head_dim));
    const Var out = ops::attention(tape, q, k, v, batch.plan, scale, pass.cache == nullptr ? nullptr : &pass.cache->layer(index));
    return ops::linear(tape, ops::view(tape, out, {N, config_.q_size()}), {w.o});
  }

  static Var mlp(Tape& tape, const Layer& w, const Var& x) {
    // One statement each: the order on the tape is the order in which gradients are added, and the language
    // leaves the order of function arguments open (gcc and clang differ).
    const Var gate = ops::linear(tape, x, {w.gate});
    const Var up = ops::linear(tape, x, {w.up});
    return ops::linear(tape, ops::swiglu(tape, gate, up), {w.down});
  }

  Param* embed_ = nullptr;
  Param* final_norm_ = nullptr;
  Param* head_ = nullptr;  // null when tied
  std::vector<Layer> layers_;
};

[[maybe_unused]] const bool registered = DecoderFamilies::add("qwen3", [](const ModelConfig& config, DType dtype, std::uint64_t seed) -> std::unique_ptr<Decoder> {
  return std::make_unique<Qwen3>(config, dtype, seed);
});

}  // namespace
}  // namespace minirl
