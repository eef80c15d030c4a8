#include "rl/model_shape.h"

#include <filesystem>

#include "model/model_presets.h"
#include "model/pretrained.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;

struct ShapeKey {
  std::string key;
  Scalar value;
};

std::vector<ShapeKey> shape_keys(const ModelConfig& m) {
  const auto whole = [](const char* key, Index value) {
    return ShapeKey{key, Scalar(static_cast<std::int64_t>(value))};
  };
  return {{"model.family", Scalar(m.family)},
          whole("model.vocab_size", m.vocab_size),
          whole("model.hidden_size", m.hidden_size),
          whole("model.num_layers", m.num_layers),
          whole("model.num_heads", m.num_heads),
          whole("model.num_kv_heads", m.num_kv_heads),
          whole("model.head_dim", m.head_dim),
          whole("model.ffn_size", m.ffn_size),
          {"model.rope_theta", Scalar(m.rope_theta)},
          {"model.rms_norm_eps", Scalar(m.rms_norm_eps)},
          {"model.tie_word_embeddings", Scalar(m.tie_word_embeddings)},
          whole("model.max_positions", m.max_positions),
          {"model.initializer_range", Scalar(m.initializer_range)}};
}

/// Sets the named field of `to` to that of `from`.
void copy_field(const std::string& key, const ModelConfig& from, ModelConfig& to) {
  const auto copy = [&](const char* name, auto field) {
    if (key == name) {
      to.*field = from.*field;
    }
  };
  copy("model.family", &ModelConfig::family);
  copy("model.vocab_size", &ModelConfig::vocab_size);
  copy("model.hidden_size", &ModelConfig::hidden_size);
  copy("model.num_layers", &ModelConfig::num_layers);
  copy("model.num_heads", &ModelConfig::num_heads);
  copy("model.num_kv_heads", &ModelConfig::num_kv_heads);
  copy("model.head_dim", &ModelConfig::head_dim);
  copy("model.ffn_size", &ModelConfig::ffn_size);
  copy("model.rope_theta", &ModelConfig::rope_theta);
  copy("model.rms_norm_eps", &ModelConfig::rms_norm_eps);
  copy("model.tie_word_embeddings", &ModelConfig::tie_word_embeddings);
  copy("model.max_positions", &ModelConfig::max_positions);
  copy("model.initializer_range", &ModelConfig::initializer_range);
}

}  // namespace

void settle_model_shape(LoadedConfig& loaded) {
  ModelTable& model = loaded.config.model;
  const auto settle = [&](const ModelConfig& from, const std::string& origin, bool overrides) {
    for (const ShapeKey& wanted : shape_keys(from)) {
      for (ResolvedKey& k : loaded.keys) {
        const std::string value = to_toml(wanted.value);
        if (k.key != wanted.key) {
          continue;
        }
        const bool written = k.origin != "default" && k.origin.rfind("preset ", 0) != 0;
        if (written && k.toml != value && overrides) {
          loaded.warnings.push_back(fmt::format("{}: {} = {}, but {} has {}, which is used", k.origin,
                                                k.key, k.toml, origin, value));
        }
        if (!written || overrides) {
          k.toml = value;
          k.origin = written && k.toml == value ? k.origin : origin;
          copy_field(wanted.key, from, model.shape);
        }
      }
    }
    model.shape.rope_scaling = from.rope_scaling;
  };
  if (!model.preset.empty()) {
    settle(find_model_preset(model.preset).config, "preset " + model.preset, false);
  }
  if (model.checkpoint.empty()) {
    return;
  }
  const fs::path directory = model.checkpoint;
  std::error_code ignored;
  if (!fs::exists(directory / "config.json", ignored)) {
    return;  // a plan can be made all the same; training says what is missing when it opens the folder
  }
  settle(read_config_json(directory / "config.json"), "checkpoint " + model.checkpoint, true);
}

}  // namespace minirl::rl
