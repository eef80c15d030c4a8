#include "model/model_presets.h"

#include "core/registry.h"

namespace minirl {
namespace {

/// hidden_size, ffn_size, layers, query heads: what differs within a series.
struct Size {
  Index hidden, ffn, layers, heads;
};

ModelConfig qwen3(const Size& s, bool tied) {
  ModelConfig c;
  c.family = "qwen3";
  c.vocab_size = 151936;
  c.hidden_size = s.hidden;
  c.ffn_size = s.ffn;
  c.num_layers = s.layers;
  c.num_heads = s.heads;
  c.num_kv_heads = 8;
  c.head_dim = 128;
  c.rope_theta = 1e6;
  c.rms_norm_eps = 1e-6;
  c.tie_word_embeddings = tied;
  c.max_positions = 40960;
  return c;
}

// The smallest shape with everything that a large one has: grouped queries, heads that are not a part
// of hidden_size, and rows of the table beyond the ids of the built-in tokenizer.
ModelConfig tiny() {
  ModelConfig c = qwen3({64, 192, 2, 4}, true);
  c.vocab_size = 320;
  c.num_kv_heads = 2;
  c.head_dim = 32;
  return c;
}

// DeepSeek-R1-Distill-Qwen-1.5B, made from Qwen2.5-Math-1.5B.
ModelConfig r1_distill_qwen() {
  ModelConfig c;
  c.family = "qwen2";
  c.vocab_size = 151936;
  c.hidden_size = 1536;
  c.ffn_size = 8960;
  c.num_layers = 28;
  c.num_heads = 12;
  c.num_kv_heads = 2;
  c.head_dim = 128;
  c.rope_theta = 10000;
  c.rms_norm_eps = 1e-6;
  c.tie_word_embeddings = false;
  c.max_positions = 131072;
  return c;
}

ModelConfig llama32() {
  ModelConfig c;
  c.family = "llama";
  c.vocab_size = 128256;
  c.hidden_size = 2048;
  c.ffn_size = 8192;
  c.num_layers = 16;
  c.num_heads = 32;
  c.num_kv_heads = 8;
  c.head_dim = 64;
  c.rope_theta = 5e5;
  c.rope_scaling = {.kind = RopeScaling::Kind::llama3,
                    .factor = 32,
                    .original_max_positions = 8192,
                    .low_freq_factor = 1,
                    .high_freq_factor = 4};
  c.rms_norm_eps = 1e-5;
  c.tie_word_embeddings = true;
  c.max_positions = 131072;
  return c;
}

}  // namespace

const std::vector<ModelPreset>& model_presets() {
  static const std::vector<ModelPreset> presets = {
      {"qwen3-tiny", "none: for tests and dry runs", tiny()},
      {"qwen3-0.6b", "Qwen/Qwen3-0.6B", qwen3({1024, 3072, 28, 16}, true)},
      {"qwen3-1.7b", "Qwen/Qwen3-1.7B", qwen3({2048, 6144, 28, 16}, true)},
      {"qwen3-4b", "Qwen/Qwen3-4B", qwen3({2560, 9728, 36, 32}, true)},
      {"qwen3-8b", "Qwen/Qwen3-8B", qwen3({4096, 12288, 36, 32}, false)},
      {"r1-distill-qwen-1.5b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", r1_distill_qwen()},
      {"llama-3.2-1b", "meta-llama/Llama-3.2-1B", llama32()},
  };
  return presets;
}

const ModelPreset& find_model_preset(std::string_view name) {
  std::vector<std::string> known;
  std::string list;
  for (const ModelPreset& p : model_presets()) {
    if (p.name == name) {
      return p;
    }
    known.push_back(p.name);
    list += (list.empty() ? "" : ", ") + p.name;
  }
  const std::string near = nearest_name(name, known);
  fail(Exit::usage, fmt::format("unknown model preset '{}'", name),
       (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + "known: " + list);
}

}  // namespace minirl
