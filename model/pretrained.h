// minirl model/pretrained.h -- a model as a Hugging Face directory: config.json, generation_config.json and
// weights in one file or several, which other tools load as they are.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "model/config_json.h"
#include "model/decoder.h"
#include "model/weights.h"
#include "model/weights_writer.h"

namespace minirl {

struct SaveOptions {
  /// Of all weights; none: as they are in memory.
  std::optional<StoredType> type = {};
  std::size_t max_shard_bytes = kDefaultShardBytes;
};
/// Writes config.json, generation_config.json and the weights into an existing directory, each file atomically.
void save_pretrained(const std::filesystem::path& directory, const Decoder& model, const SpecialIds& ids, const SaveOptions& options = {});

/// A tied model has no head of its own, but some directories come with one. If it is a copy of the table
/// it is left out. If it is another matrix, somebody has to say what is meant:
enum class TiedHead : unsigned char {
  refuse,  // an error that explains the conflict
  table,   // the head is the table, as config.json says; the matrix is left out
  head,    // the matrix is the head: the model is loaded as an untied one
};
TiedHead tied_head_from_name(std::string_view name);

struct LoadOptions {
  TiedHead tied_head = TiedHead::refuse;
  /// How matrices are stored; none: as the model computes. bf16 in an f32 model halves their memory.
  std::optional<DType> matrices = {};
  /// Called after every tensor with the bytes of the file that are done, and all.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

/// A directory whose files were checked against each other: config.json, tensors, shapes, types. Values are
/// not looked at yet.
struct OpenedDirectory {
  ModelConfig config;  // with tie_word_embeddings as it will be loaded
  Weights weights;
};
/// Every parameter must be there with its shape, nothing may be left over. Throws Error(usage) that names
/// file and field or tensor.
OpenedDirectory open_pretrained(const std::filesystem::path& directory, TiedHead tied_head = TiedHead::refuse);

/// Loads a directory into a new f32 (or f64) model, tensor by tensor from mapped files: the peak is one copy
/// of the weights. All values must be finite: otherwise an error that names file and tensor.
std::unique_ptr<Decoder> load_pretrained(const std::filesystem::path& directory, DType dtype = DType::f32, const LoadOptions& options = {});
/// ... into a model that exists, whose shapes must be those of the directory. All is checked before anything
/// is changed.
void load_weights(const std::filesystem::path& directory, Decoder& model);

}  // namespace minirl
