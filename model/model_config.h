// minirl model/model_config.h -- the shape of a decoder; names as in Hugging Face config.json.
#pragma once
#include <string>

#include "core/error.h"

namespace minirl {

using Token = std::int32_t;

/// How rotary positions are stretched beyond the length that was trained first
/// (model/rope_scaling.h); names as in config.json's rope_scaling.
struct RopeScaling {
  enum class Kind : unsigned char { none, linear, llama3, yarn };
  Kind kind = Kind::none;
  double factor = 1;                // new length / trained length
  Index original_max_positions = 0;  // trained length, tokens (llama3, yarn)
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn: turns over the trained length
  double attention_factor = 0;            // yarn: of cosines and sines; 0: follows from the factor
  double mscale = 0, mscale_all_dim = 0;  // yarn: two parts of that; 0: unused
  bool truncate = true;                   // yarn: the ramp begins and ends at whole dimensions
  bool operator==(const RopeScaling&) const = default;
};

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
  RopeScaling rope_scaling;
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
