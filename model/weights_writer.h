// minirl model/weights_writer.h -- weights of a Hugging Face directory: model.safetensors, or shards
// and their index when they are larger than a limit. Streamed: no tensor has to be in memory.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/safetensors.h"

namespace minirl {

/// Limit of one file where nobody says otherwise: that of transformers.
inline constexpr std::size_t kDefaultShardBytes = 5'000'000'000;

/// "2GB", "500MB", "1GiB", "100000": bytes. Throws Error(usage) that names `what`.
std::size_t parse_bytes(const std::string& text, const std::string& what);

class WeightsWriter {
 public:
  /// The directory exists. Shards are filled in order: a tensor that would pass the limit begins the
  /// next one, so a file is larger than the limit only if one tensor is.
  WeightsWriter(std::filesystem::path directory, std::vector<TensorHeader> tensors,
                std::size_t max_shard_bytes = kDefaultShardBytes);
  /// The bytes of all tensors in order, in pieces of any size that do not pass the end of a tensor.
  void write(std::span<const std::byte> bytes);
  /// Converts to the type of the tensor that is due.
  template <class T>
  void write_values(std::span<const T> values) {
    buffer_.resize(values.size() * size_of(tensors_[next_].type));
    encode(tensors_[next_].type, values, buffer_);
    write(buffer_);
  }
  /// Writes the index if there are several files. Call once, after all bytes.
  void finish();

  std::size_t total_bytes() const { return total_; }

 private:
  std::string file_name(std::size_t shard) const;

  std::filesystem::path directory_;
  std::vector<TensorHeader> tensors_;
  std::vector<std::size_t> first_;  // (shards + 1) first tensor of each shard
  std::size_t shard_ = 0, next_ = 0, left_ = 0, total_ = 0;
  std::unique_ptr<SafetensorsWriter> file_;
  std::vector<std::byte> buffer_;
};

}  // namespace minirl
