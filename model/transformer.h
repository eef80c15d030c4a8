// minirl model/transformer.h -- the decoder that Qwen3, Qwen2 and Llama share:
//   x  = embedding(ids)
//   each layer:  x += o( attention( rope(q), rope(k), v ) )   of norm(x)
//                x += down( silu(gate) * up )                 of norm(x)
//   logits = head(norm(x))
// with RMS norms, grouped-query attention and a head_dim that is independent of hidden_size. What
// differs from family to family are the traits below; a family is one file that names them.
#pragma once
#include <vector>

#include "model/decoder.h"

namespace minirl {

struct TransformerTraits {
  bool qkv_bias = false;  // queries, keys and values have biases (Qwen2)
  bool qk_norm = false;   // queries and keys are RMS-normalised per head before rotation (Qwen3)
};

/// Every parameter in the order of the model. `config` must be valid.
std::vector<WeightSpec> transformer_weights(const ModelConfig& config,
                                            const TransformerTraits& traits);

/// A decoder over `params`, which are those of transformer_weights in that order.
std::unique_ptr<Decoder> make_transformer(const ModelConfig& config,
                                          const TransformerTraits& traits, DType dtype,
                                          Params params);

}  // namespace minirl
