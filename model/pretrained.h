// minirl model/pretrained.h -- a model as a Hugging Face directory: config.json, generation_config.json and
// model.safetensors, which other tools load as they are.
#pragma once
#include <filesystem>
#include <memory>

#include "model/decoder.h"

namespace minirl {

/// Ids that the files name; -1 where a model has none.
struct SpecialIds {
  Token eos = -1;
  Token bos = -1;
  Token pad = -1;
};

/// config.json as the family's reference implementation reads it.
std::string config_json(const ModelConfig& config, const SpecialIds& ids);
/// Reads config.json. Throws Error(usage) that names file and field.
ModelConfig read_config_json(const std::filesystem::path& path);

/// Writes the three files into an existing directory, each atomically.
void save_pretrained(const std::filesystem::path& directory, const Decoder& model, const SpecialIds& ids);

/// Loads a directory into a new f32 (or f64) model. Every parameter must be there with its shape, nothing
/// may be left over, and all values must be finite: otherwise an error that names file and tensor.
std::unique_ptr<Decoder> load_pretrained(const std::filesystem::path& directory, DType dtype = DType::f32);
/// ... into a model that exists; the shapes of config.json must be its own.
void load_weights(const std::filesystem::path& directory, Decoder& model);

}  // namespace minirl
