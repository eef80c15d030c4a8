// minirl model/model_config.h -- the shape of a decoder; names as in Hugging Face config.json.
#pragma once
#include <string>

#include "core/error.h"

namespace minirl {

using Token = std::int32_t;

struct ModelConfig {
  std::string family = "qwen3";
  Index vocab_size = 0;         // rows of the embedding table
  Index hidden_size = 128;
  Index num_layers = 4;
  Index num_heads = 4;
  Index num_kv_heads = 2;
  Index head_dim = 32;          // independent of hidden_size / num_heads
  Index ffn_size = 384;
  double rope_theta = 1e6;
  double rms_norm_eps = 1e-6;
  bool tie_word_embeddings = true;
  Index max_positions = 4096;
  double initializer_range = 0.02;

  Index q_size() const { return num_heads * head_dim; }
  Index kv_size() const { return num_kv_heads * head_dim; }
  /// Throws Error(usage) that names the field.
  void validate() const;
};

}  // namespace minirl
