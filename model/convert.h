// minirl model/convert.h -- Hugging Face directories that are made without holding a model in memory.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/pretrained.h"

namespace minirl {

/// Bytes of weights that are written, and all.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// Files of a tokenizer and its template, as far as a directory has them.
void copy_tokenizer_files(const std::filesystem::path& from, const std::filesystem::path& to);

struct ConvertOptions {
  std::optional<StoredType> type = {};  // of all weights; none: each tensor keeps its own
  std::size_t max_shard_bytes = kDefaultShardBytes;
  TiedHead tied_head = TiedHead::refuse;
  Progress progress = {};
};
/// Writes the checkpoint `in` anew as `out`, which must not exist and appears when it is complete:
/// weights in another type and other shards; all fields of config.json, generation_config.json and the
/// tokenizer's files are kept. A value that the new type cannot hold is an error that names it.
void convert_directory(const std::filesystem::path& in, const std::filesystem::path& out,
                       const ConvertOptions& options);

struct InitOptions {
  std::uint64_t seed = 0;
  StoredType type = StoredType::F32;
  std::size_t max_shard_bytes = kDefaultShardBytes;
  Progress progress = {};
};
/// Random weights of a shape: the values of make_decoder(config, f32, seed), rounded to the type, into a
/// directory that exists.
void write_random_model(const std::filesystem::path& directory, const ModelConfig& config,
                        const SpecialIds& ids, const InitOptions& options);

/// Of one tensor.
struct TensorStatistics {
  double minimum = 0, maximum = 0, mean = 0, deviation = 0;  // of the finite values
  Index zeros = 0, not_finite = 0;
};
TensorStatistics tensor_statistics(const Weights& weights, const std::string& name);

}  // namespace minirl
