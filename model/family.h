// minirl model/family.h -- a model family: which parameters it has, how to compute with them, and
// what its config.json means where it is silent. One file each: model/qwen3.cpp, model/qwen2.cpp, ...
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/registry.h"
#include "model/decoder.h"

namespace minirl {

struct Family {
  std::string architecture;  // of config.json
  /// Every parameter, in the order of the model. `config` is valid.
  std::vector<WeightSpec> (*weights)(const ModelConfig& config);
  std::unique_ptr<Decoder> (*make)(const ModelConfig& config, DType dtype, Params params);

  // What config.json may leave out, as the family's reference implementation reads it; where there
  // is no such reading, the field must be written.
  Index (*default_head_dim)(const ModelConfig& config);
  std::optional<double> default_rope_theta = {};
  std::optional<bool> default_tied = {};
  bool kv_heads_default_to_heads = false;
  /// The family has its biases whatever attention_bias says; otherwise attention_bias = true is
  /// another architecture, which is refused.
  bool attention_bias_is_fixed = false;
};

/// By the model_type of config.json.
struct Families : Registry<Family, Families> {};

/// Every parameter of a model of this shape. Throws Error(usage) for an unknown family or shape.
std::vector<WeightSpec> model_weights(const ModelConfig& config);
/// Numbers in all of them.
Index model_parameter_count(const ModelConfig& config);

}  // namespace minirl
