#include "model/weights_writer.h"

#include <charconv>

#include <nlohmann/json.hpp>

namespace minirl {

std::size_t parse_bytes(const std::string& text, const std::string& what) {
  const auto bad = [&] {
    fail(Exit::usage, fmt::format("{} = '{}' is not a size", what, text),
         "write bytes, or a number with KB, MB, GB, KiB, MiB or GiB, such as 2GB");
  };
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || number == 0) {
    bad();
  }
  const std::string unit(rest, end);
  std::size_t factor = 1;
  const std::pair<const char*, std::size_t> units[] = {
      {"", 1},   {"B", 1},          {"KB", 1000},      {"MB", 1000000}, {"GB", 1000000000},
      {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  bool known = false;
  for (const auto& [name, size] : units) {
    if (unit == name) {
      factor = size;
      known = true;
    }
  }
  std::size_t bytes = 0;
  if (!known || __builtin_mul_overflow(number, factor, &bytes)) {
    bad();
  }
  return bytes;
}

WeightsWriter::WeightsWriter(std::filesystem::path directory, std::vector<TensorHeader> tensors,
                             std::size_t max_shard_bytes)
    : directory_(std::move(directory)), tensors_(std::move(tensors)) {
  MINIRL_CHECK(!tensors_.empty(), "a model without tensors");
  first_ = {0};
  std::size_t in_shard = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::size_t bytes = tensors_[i].bytes();
    if (in_shard > 0 && in_shard + bytes > max_shard_bytes) {
      first_.push_back(i);
      in_shard = 0;
    }
    in_shard += bytes;
    total_ += bytes;
  }
  first_.push_back(tensors_.size());
  left_ = tensors_[0].bytes();
}

std::string WeightsWriter::file_name(std::size_t shard) const {
  const std::size_t shards = first_.size() - 1;
  return shards == 1 ? "model.safetensors"
                     : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards);
}

void WeightsWriter::write(std::span<const std::byte> bytes) {
  MINIRL_CHECK(next_ < tensors_.size() && bytes.size() <= left_, "{} bytes where {} are due",
               bytes.size(), left_);
  if (file_ == nullptr) {
    file_ = std::make_unique<SafetensorsWriter>(
        directory_ / file_name(shard_),
        std::span(tensors_).subspan(first_[shard_], first_[shard_ + 1] - first_[shard_]),
        std::map<std::string, std::string>{{"format", "pt"}});
  }
  file_->write(bytes);
  left_ -= bytes.size();
  if (left_ > 0) {
    return;
  }
  if (++next_ == first_[shard_ + 1]) {
    file_->commit();
    file_.reset();
    ++shard_;
  }
  left_ = next_ < tensors_.size() ? tensors_[next_].bytes() : 0;
}

void WeightsWriter::finish() {
  MINIRL_CHECK(next_ == tensors_.size(), "tensor '{}' was not written", tensors_[next_].name);
  if (first_.size() == 2) {
    return;
  }
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (std::size_t shard = 0; shard + 1 < first_.size(); ++shard) {
    for (std::size_t i = first_[shard]; i < first_[shard + 1]; ++i) {
      map[tensors_[i].name] = file_name(shard);
    }
  }
  const nlohmann::ordered_json doc = {{"metadata", {{"total_size", total_}}}, {"weight_map", map}};
  write_file_atomic(directory_ / "model.safetensors.index.json", doc.dump(2) + "\n");
}

}  // namespace minirl
