// minirl bench/shapes.h -- the models that speeds are compared on.
#pragma once
#include <string>

#include "model/model_presets.h"

namespace minirl::bench {

/// "default" (the bundled run's), "tiny", "small", or a preset's name such as "qwen3-0.6b".
inline ModelConfig shape(const std::string& name) {
  ModelConfig c;  // hidden 128, 4 layers, 4/2 heads of 32, ffn 384
  c.vocab_size = 512;
  if (name == "default") {
    c.vocab_size = 261;
  } else if (name == "small") {
    c.vocab_size = 4096;
    c.hidden_size = 512;
    c.num_layers = 8;
    c.num_heads = 8;
    c.num_kv_heads = 4;
    c.head_dim = 64;
    c.ffn_size = 1536;
  } else if (name != "tiny") {
    c = find_model_preset(name).config;
  }
  return c;
}

}  // namespace minirl::bench
