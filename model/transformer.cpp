#include "model/transformer.h"

#include <algorithm>

namespace minirl {
namespace {

class Transformer final : public Decoder {
 public:
  Transformer(const ModelConfig& config, const TransformerTraits& traits, DType dtype,
              Params params)
      : Decoder(config, dtype, std::move(params)), traits_(traits) {
    std::size_t next = 0;
    const auto take = [&] { return &params_.all().at(next++); };
    embed_ = take();
    for (Index l = 0; l < config_.num_layers; ++l) {
      Layer w{};
      w.input_norm = take();
      for (Projection* p : {&w.q, &w.k, &w.v}) {
        p->weight = take();
        p->bias = traits_.qkv_bias ? take() : nullptr;
      }
      w.o = take();
      w.q_norm = traits_.qk_norm ? take() : nullptr;
      w.k_norm = traits_.qk_norm ? take() : nullptr;
      w.post_norm = take();
      w.gate = take();
      w.up = take();
      w.down = take();
      layers_.push_back(w);
    }
    final_norm_ = take();
    head_ = config_.tie_word_embeddings ? nullptr : take();
    MINIRL_CHECK(next == params_.all().size(), "{} parameters were made, {} are used",
                 params_.all().size(), next);
  }

  Var hidden(const Pass& pass, const Ragged& batch) override {
    Index longest = 0;
    for (const auto& run : batch.plan->runs) {
      longest = std::max(longest, run.first_position + run.rows);
    }
    const ops::RopeTable rope = rope_table(longest, pass.tape.exec());  // shares storage
    Var x = ops::embedding(pass.tape, {embed_}, batch.ids);
    for (Index l = 0; l < config_.num_layers; ++l) {
      if (recomputes_layers() && pass.tape.recording()) {
        x = ops::recomputed(pass.tape, x, [this, batch, rope, l](Tape& tape, const Var& in) {
          return layer({tape, nullptr}, batch, rope, l, in);
        });
      } else {
        x = layer(pass, batch, rope, l, x);
      }
    }
    return x;
  }

  Var head_input(const Pass& pass, const Var& hidden, const Tensor& rows) override {
    return ops::rmsnorm(pass.tape, ops::gather_rows(pass.tape, hidden, rows), {final_norm_},
                        config_.rms_norm_eps);
  }

  // A tied head is a second use of the embedding table: see Param.
  ParamUse head() override { return head_ != nullptr ? ParamUse{head_} : ParamUse{embed_, 1}; }

 private:
  struct Projection {
    Param* weight = nullptr;
    Param* bias = nullptr;  // null: none
  };
  struct Layer {
    Param* input_norm;
    Projection q, k, v;
    Param *o, *q_norm, *k_norm, *post_norm, *gate, *up, *down;
  };

  Var layer(const Pass& pass, const Ragged& batch, const ops::RopeTable& rope, Index index,
            const Var& x) {
    Tape& tape = pass.tape;
    const Layer& w = layers_[static_cast<std::size_t>(index)];
    const Var normed = ops::rmsnorm(tape, x, {w.input_norm}, config_.rms_norm_eps);
    const Var attended = attention(pass, batch, rope, w, index, normed);
    const Var middle = ops::add(tape, x, attended);
    const Var normed_again = ops::rmsnorm(tape, middle, {w.post_norm}, config_.rms_norm_eps);
    const Var fed = mlp(tape, w, normed_again);
    return ops::add(tape, middle, fed);
  }

  Var attention(const Pass& pass, const Ragged& batch, const ops::RopeTable& rope, const Layer& w,
                Index index, const Var& x) {
    Tape& tape = pass.tape;
    const Index N = batch.tokens();
    const auto heads = [&](const Projection& p, Index count) {
      Var y = ops::linear(tape, x, {p.weight});
      if (p.bias != nullptr) {
        y = ops::add_bias(tape, y, {p.bias});
      }
      return ops::view(tape, y, {N, count, config_.head_dim});
    };
    const auto rotated = [&](Var v, Param* norm) {
      if (norm != nullptr) {
        v = ops::rmsnorm(tape, v, {norm}, config_.rms_norm_eps);
      }
      return ops::rope(tape, v, rope, batch.positions);
    };
    const Var q = rotated(heads(w.q, config_.num_heads), w.q_norm);
    const Var k = rotated(heads(w.k, config_.num_kv_heads), w.k_norm);
    const Var v = heads(w.v, config_.num_kv_heads);
    const double scale = 1.0 / fmath::sqrt(static_cast<double>(config_.head_dim));
    const Var out = ops::attention(tape, q, k, v, batch.plan, scale,
                                   pass.cache == nullptr ? nullptr : &pass.cache->layer(index));
    return ops::linear(tape, ops::view(tape, out, {N, config_.q_size()}), {w.o});
  }

  static Var mlp(Tape& tape, const Layer& w, const Var& x) {
    // One statement each: the order on the tape is the order in which gradients are added, and the
    // language leaves the order of function arguments open (gcc and clang differ).
    const Var gate = ops::linear(tape, x, {w.gate});
    const Var up = ops::linear(tape, x, {w.up});
    return ops::linear(tape, ops::swiglu(tape, gate, up), {w.down});
  }

  TransformerTraits traits_;
  Param* embed_ = nullptr;
  Param* final_norm_ = nullptr;
  Param* head_ = nullptr;  // null when tied
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<WeightSpec> transformer_weights(const ModelConfig& c,
                                            const TransformerTraits& traits) {
  using Start = WeightSpec::Start;
  std::vector<WeightSpec> out;
  out.push_back({"model.embed_tokens.weight", {c.vocab_size, c.hidden_size}, Start::normal});
  for (Index l = 0; l < c.num_layers; ++l) {
    const auto add = [&](const char* part, const char* what, Shape shape, Start start) {
      out.push_back({fmt::format("model.layers.{}.{}.{}", l, part, what), shape, start});
    };
    const auto matrix = [&](const char* part, Index rows, Index columns) {
      add(part, "weight", {rows, columns}, Start::normal);
    };
    const auto projection = [&](const char* part, Index rows) {
      matrix(part, rows, c.hidden_size);
      if (traits.qkv_bias) {
        add(part, "bias", {rows}, Start::zeros);
      }
    };
    const auto norm = [&](const char* part, Index size) {
      add(part, "weight", {size}, Start::ones);
    };
    norm("input_layernorm", c.hidden_size);
    projection("self_attn.q_proj", c.q_size());
    projection("self_attn.k_proj", c.kv_size());
    projection("self_attn.v_proj", c.kv_size());
    matrix("self_attn.o_proj", c.hidden_size, c.q_size());
    if (traits.qk_norm) {
      norm("self_attn.q_norm", c.head_dim);
      norm("self_attn.k_norm", c.head_dim);
    }
    norm("post_attention_layernorm", c.hidden_size);
    matrix("mlp.gate_proj", c.ffn_size, c.hidden_size);
    matrix("mlp.up_proj", c.ffn_size, c.hidden_size);
    matrix("mlp.down_proj", c.hidden_size, c.ffn_size);
  }
  out.push_back({"model.norm.weight", {c.hidden_size}, Start::ones});
  if (!c.tie_word_embeddings) {
    out.push_back({"lm_head.weight", {c.vocab_size, c.hidden_size}, Start::normal});
  }
  return out;
}

std::unique_ptr<Decoder> make_transformer(const ModelConfig& config,
                                          const TransformerTraits& traits, DType dtype,
                                          Params params) {
  return std::make_unique<Transformer>(config, traits, dtype, std::move(params));
}

}  // namespace minirl
