// minirl model/config_json.h -- config.json and generation_config.json of a Hugging Face directory.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "model/stored_type.h"

namespace minirl {

/// Ids that are written into the files; -1 where a model has none.
struct SpecialIds {
  Token eos = -1;
  Token bos = -1;
  Token pad = -1;
};

/// config.json as the family's reference implementation reads it.
std::string config_json(const ModelConfig& config, const SpecialIds& ids,
                        StoredType type = StoredType::F32);
/// generation_config.json: unfiltered sampling at temperature 1, and the end token.
std::string generation_config_json(const SpecialIds& ids);

/// Reads config.json. Fields of other meaning than minirl's (sliding windows, quantization, ...) are
/// refused, unknown ones are ignored. Throws Error(usage) that names file and field.
ModelConfig read_config_json(const std::filesystem::path& path);
/// Is the field there and not null? For advice about what a silent config.json was taken to mean.
bool config_json_names(const std::filesystem::path& path, const char* field);
/// The text of config.json with other values of its type of weights and tie_word_embeddings;
/// everything else, unknown fields included, stays.
std::string config_json_with(const std::filesystem::path& path, StoredType type, bool tied);

/// Ids that the files of a directory declare.
struct DeclaredIds {
  std::vector<Token> eos;  // union of config.json and generation_config.json, ascending
  Token bos = -1, pad = -1;  // of generation_config.json, else of config.json; -1: none
};
/// eos_token_id may be a number, a list or null. Ids outside of the vocabulary, and what is no id, are
/// errors that name file and field.
DeclaredIds read_declared_ids(const std::filesystem::path& directory);

}  // namespace minirl
