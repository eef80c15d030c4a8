// minirl model/llama.cpp -- the Llama decoder as published (Llama 2, 2023; Llama 3, 2024, with the
// stretched rotary positions of 3.1 and later: model/rope_scaling.h): model/transformer.h with neither
// biases nor norms on queries and keys.
#include "model/family.h"
#include "model/transformer.h"

namespace minirl {
namespace {

constexpr TransformerTraits kTraits{};

[[maybe_unused]] const bool registered = Families::add(
    "llama",
    {.architecture = "LlamaForCausalLM",
     .weights = [](const ModelConfig& c) { return transformer_weights(c, kTraits); },
     .make =
         [](const ModelConfig& c, DType dtype, Params params) {
           return make_transformer(c, kTraits, dtype, std::move(params));
         },
     .default_head_dim = [](const ModelConfig& c) { return c.hidden_size / c.num_heads; },
     .default_rope_theta = 10000,
     .default_tied = false,
     .kv_heads_default_to_heads = true});

}  // namespace
}  // namespace minirl
