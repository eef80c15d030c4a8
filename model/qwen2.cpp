// minirl model/qwen2.cpp -- the Qwen2 and Qwen2.5 decoder as published (Qwen2 technical report, 2024),
// also that of DeepSeek-R1-Distill-Qwen: model/transformer.h with biases on queries, keys and values,
// and without norms on them.
#include "model/family.h"
#include "model/transformer.h"

namespace minirl {
namespace {

constexpr TransformerTraits kTraits{.qkv_bias = true, .qk_norm = false};

[[maybe_unused]] const bool registered = Families::add(
    "qwen2",
    {.architecture = "Qwen2ForCausalLM",
     .weights = [](const ModelConfig& c) { return transformer_weights(c, kTraits); },
     .make =
         [](const ModelConfig& c, DType dtype, Params params) {
           return make_transformer(c, kTraits, dtype, std::move(params));
         },
     .default_head_dim = [](const ModelConfig& c) { return c.hidden_size / c.num_heads; },
     .default_rope_theta = 10000,
     .default_tied = false,
     .attention_bias_is_fixed = true});

}  // namespace
}  // namespace minirl
