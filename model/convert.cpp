#include "model/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/files.h"
#include "model/family.h"
#include "model/staged_directory.h"

namespace minirl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 20;  // values in memory at once

/// All values of a tensor as doubles, piece by piece.
template <class F>
void each_piece(const Weights& weights, const std::string& name, F body) {
  const StoredType type = weights.tensors().at(name).entry.type;
  weights.visit(name, [&](std::span<const std::byte> bytes) {
    const std::size_t size = size_of(type), n = bytes.size() / size;
    std::vector<double> piece;
    for (std::size_t first = 0; first < n; first += kPiece) {
      piece.resize(std::min(kPiece, n - first));
      decode(type, bytes.subspan(first * size, piece.size() * size), std::span(piece));
      body(first, std::span<const double>(piece));
    }
  });
}

// Largest magnitudes that round to a finite number.
double largest_of(StoredType type) {
  switch (type) {
    case StoredType::F16:
      return 65519.996;
    case StoredType::BF16:
      return 3.3961775292304e38;
    case StoredType::F32:
      return 3.4028235677973364e38;
    default:
      return std::numeric_limits<double>::max();
  }
}

void write_converted(const Weights& weights, const std::string& name, StoredType type,
                     WeightsWriter& writer) {
  const double largest = largest_of(type);
  const auto require_fits = [&](std::size_t first, std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(std::abs(values[i]) <= largest)) {
        weights.bad(name,
                    fmt::format("tensor '{}' holds {} at index {}, which {} cannot hold", name,
                                values[i], first + i, minirl::name(type)),
                    std::isfinite(values[i]) ? "choose --dtype bf16 or f32"
                                             : "this checkpoint is broken; use an earlier one");
      }
    }
  };
  if (weights.tensors().at(name).entry.type == type) {  // bits, not values, are copied
    each_piece(weights, name, require_fits);
    weights.visit(name, [&](std::span<const std::byte> bytes) { writer.write(bytes); });
    return;
  }
  each_piece(weights, name, [&](std::size_t first, std::span<const double> values) {
    require_fits(first, values);
    writer.write_values(values);
  });
}

}  // namespace

void copy_tokenizer_files(const fs::path& from, const fs::path& to) {
  for (const char* file :
       {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
        "vocab.json", "merges.txt", "tokenizer.model", "chat_template.jinja",
        "chat_template.json"}) {
    std::error_code ignored;
    if (fs::exists(from / file, ignored)) {
      write_file_atomic(to / file, read_file(from / file));
    }
  }
}

void convert_directory(const fs::path& in, const fs::path& out, const ConvertOptions& options) {
  const OpenedDirectory opened = open_pretrained(in, options.tied_head);
  const auto specs = model_weights(opened.config);
  std::vector<TensorHeader> headers;
  std::size_t total = 0;
  for (const WeightSpec& spec : specs) {
    const StoredType own = opened.weights.tensors().at(spec.name).entry.type;
    headers.push_back({spec.name, options.type.value_or(own), spec.shape});
    total += headers.back().bytes();
  }
  require_disk_space(out, total);
  StagedDirectory staged(out);
  copy_tokenizer_files(in, staged.path());
  std::error_code ignored;
  if (fs::exists(in / "generation_config.json", ignored)) {
    write_file_atomic(staged.path() / "generation_config.json",
                      read_file(in / "generation_config.json"));
  } else {
    const DeclaredIds ids = read_declared_ids(in);
    write_file_atomic(staged.path() / "generation_config.json",
                      generation_config_json({ids.eos.empty() ? -1 : ids.eos[0], ids.bos, ids.pad}));
  }
  write_file_atomic(staged.path() / "config.json",
                    config_json_with(in / "config.json", headers[0].type,
                                     opened.config.tie_word_embeddings));
  WeightsWriter writer(staged.path(), headers, options.max_shard_bytes);
  std::size_t done = 0;
  for (const TensorHeader& h : headers) {
    write_converted(opened.weights, h.name, h.type, writer);
    done += h.bytes();
    if (options.progress) {
      options.progress(done, total);
    }
  }
  writer.finish();
  staged.publish();
}

void write_random_model(const fs::path& directory, const ModelConfig& config,
                        const SpecialIds& ids, const InitOptions& options) {
  const auto specs = model_weights(config);
  std::vector<TensorHeader> headers;
  std::size_t total = 0;
  for (const WeightSpec& spec : specs) {
    headers.push_back({spec.name, options.type, spec.shape});
    total += headers.back().bytes();
  }
  require_disk_space(directory, total);
  write_file_atomic(directory / "config.json", config_json(config, ids, options.type));
  write_file_atomic(directory / "generation_config.json", generation_config_json(ids));
  WeightsWriter writer(directory, headers, options.max_shard_bytes);
  std::vector<float> values;
  std::size_t done = 0;
  for (const WeightSpec& spec : specs) {
    const auto n = static_cast<std::size_t>(spec.shape.numel());
    for (std::size_t first = 0; first < n; first += kPiece) {
      values.resize(std::min(kPiece, n - first));
      initial_values(spec, config.initializer_range, options.seed, static_cast<Index>(first),
                     values);
      writer.write_values(std::span<const float>(values));
      done += values.size() * size_of(options.type);
      if (options.progress) {
        options.progress(done, total);
      }
    }
  }
  writer.finish();
}

TensorStatistics tensor_statistics(const Weights& weights, const std::string& name) {
  TensorStatistics out;
  Index n = 0;
  double sum = 0, squares = 0;
  each_piece(weights, name, [&](std::size_t, std::span<const double> values) {
    for (const double v : values) {
      if (!std::isfinite(v)) {
        ++out.not_finite;
        continue;
      }
      out.minimum = n == 0 ? v : std::min(out.minimum, v);
      out.maximum = n == 0 ? v : std::max(out.maximum, v);
      out.zeros += v == 0 ? 1 : 0;
      sum += v;
      squares += v * v;
      ++n;
    }
  });
  if (n > 0) {
    const auto count = static_cast<double>(n);
    out.mean = sum / count;
    out.deviation = std::sqrt(std::max(0.0, squares / count - out.mean * out.mean));
  }
  return out;
}

}  // namespace minirl
