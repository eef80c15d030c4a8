// minirl model/qwen3.cpp -- the Qwen3 decoder as published (Qwen3 technical report, 2025; the Hugging
// Face module of the same name is the reference for layouts and names): model/transformer.h with
// queries and keys that are RMS-normalised per head before the rotation, and without biases.
#include "model/family.h"
#include "model/transformer.h"

namespace minirl {
namespace {

constexpr TransformerTraits kTraits{.qkv_bias = false, .qk_norm = true};

[[maybe_unused]] const bool registered = Families::add(
    "qwen3",
    {.architecture = "Qwen3ForCausalLM",
     .weights = [](const ModelConfig& c) { return transformer_weights(c, kTraits); },
     .make =
         [](const ModelConfig& c, DType dtype, Params params) {
           return make_transformer(c, kTraits, dtype, std::move(params));
         },
     .default_head_dim = [](const ModelConfig&) { return Index{128}; }});

}  // namespace
}  // namespace minirl
