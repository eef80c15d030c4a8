#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <nlohmann/json.hpp>

#include "core/files.h"

namespace minirl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::size_t kPiece = std::size_t{1} << 20;  // values converted at once
constexpr const char* kDisagree = "config.json and the weights do not belong together";

bool present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) || fs::is_symlink(path, ignored);
}

/// 'a', 'b' and 3 more
std::string some_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < 2; ++i) {
    out += (i > 0 ? ", '" : "'") + names[i] + "'";
  }
  return names.size() > 2 ? fmt::format("{} and {} more", out, names.size() - 2) : out;
}

std::vector<std::string> files_ending(const fs::path& directory,
                                      const std::set<std::string>& endings) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (endings.count(entry.path().extension().string()) != 0) {
      out.push_back(entry.path().filename().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> safetensors_files(const fs::path& directory) {
  return files_ending(directory, {".safetensors"});
}

/// Does a file of the directory really lie in it? The Hub's cache keeps snapshots/REVISION/file as
/// links to blobs/HASH of the same repository: they count as inside.
bool stays_inside(const fs::path& directory, const fs::path& file) {
  std::error_code error;
  const fs::path root = fs::canonical(directory, error);
  const fs::path real = fs::canonical(file, error);
  if (error || real.parent_path() == root) {
    return true;  // absent files are reported as such
  }
  return root.parent_path().filename() == "snapshots" &&
         real.parent_path() == root.parent_path().parent_path() / "blobs";
}

/// weight_map of the index: tensor -> shard, in the order of names.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const auto bad = [&](const std::string& what, std::string_view hint = {}) {
    fail(Exit::usage, fmt::format("'{}': {}", path.string(), what), hint);
  };
  const std::string text = read_file(path);
  if (const std::string other = what_else_it_is(text); !other.empty()) {
    bad(other, "download the checkpoint again");
  }
  std::map<std::string, std::string> out;
  std::set<std::string> seen;
  std::string twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 2 &&
        !seen.insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json doc;
  try {
    doc = Json::parse(text, watch);
  } catch (const Json::exception&) {
    bad("it is not JSON", "download the checkpoint again");
  }
  if (!doc.is_object() || !doc.contains("weight_map") || !doc["weight_map"].is_object() ||
      doc["weight_map"].empty()) {
    bad("it has no 'weight_map' of tensors and files");
  }
  if (!twice.empty()) {
    bad(fmt::format("'{}' is listed twice", twice));
  }
  for (const auto& [name, shard] : doc["weight_map"].items()) {
    if (!shard.is_string()) {
      bad(fmt::format("the file of tensor '{}' is {}, not a name", name, shard.dump()));
    }
    const auto file = shard.get<std::string>();
    if (file.empty() || file == "." || file == ".." || file.find_first_of("/\\") != std::string::npos ||
        file.find('\0') != std::string::npos) {
      bad(fmt::format("the file of tensor '{}' is {}: the name of a file in the same folder is needed",
                      name, shard.dump()),
          "an index may not point outside of its folder");
    }
    out[name] = file;
  }
  return out;
}

}  // namespace

std::string what_else_it_is(std::string_view text) {
  const auto starts_with = [&](std::string_view start) { return text.substr(0, start.size()) == start; };
  if (starts_with("version https://git-lfs")) {
    return "it is a Git LFS pointer, the file itself was not downloaded";
  }
  if (starts_with("<!DOCTYPE") || starts_with("<html") || starts_with("<?xml")) {
    return "it is an HTML or XML page, the file itself was not downloaded";
  }
  return "";
}

void require_model_directory(const fs::path& directory) {
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) {
    fail(Exit::usage, fmt::format("'{}' is not a checkpoint directory", directory.string()),
         "give a directory with config.json and model.safetensors");
  }
  const fs::path adapter = directory / "adapter_config.json";
  if (!present(adapter) || present(directory / kSingle) || present(directory / kIndex)) {
    return;
  }
  std::string facts;
  try {
    const Json doc = Json::parse(read_file(adapter));
    for (const char* key : {"base_model_name_or_path", "r", "lora_alpha", "use_rslora"}) {
      if (doc.contains(key) && !doc[key].is_null()) {
        facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", key, doc[key].dump());
      }
    }
  } catch (const Json::exception&) {
    facts = "its adapter_config.json is not JSON";
  }
  fail(Exit::usage,
       fmt::format("'{}' holds a LoRA adapter, not a model ({})", directory.string(), facts),
       "minirl has no adapters: merge it into its base model first and give the merged directory");
}

Weights::Weights(const fs::path& directory) : directory_(directory), main_(directory / kSingle) {
  require_model_directory(directory);
  const fs::path index = directory / kIndex;
  if (present(main_) && present(index)) {
    fail(Exit::usage,
         fmt::format("'{}' has both {} and {}", directory.string(), kSingle, kIndex),
         "one of them is stale: remove it");
  }
  if (present(index)) {
    main_ = index;
    open_index(index);
    return;
  }
  if (!present(main_)) {
    const auto others = safetensors_files(directory);
    if (!others.empty()) {
      fail(Exit::usage,
           fmt::format("'{}' has neither {} nor {}, only {}", directory.string(), kSingle, kIndex,
                       some_of(others)),
           "download or write the index that says which tensor lies where");
    }
    const auto foreign = files_ending(directory, {".bin", ".pt", ".pth", ".gguf", ".msgpack", ".h5"});
    if (!foreign.empty()) {
      fail(Exit::usage,
           fmt::format("'{}' has no {}, only {}", directory.string(), kSingle, some_of(foreign)),
           "minirl reads safetensors only: convert the weights first");
    }
  }
  if (!stays_inside(directory, main_)) {
    bad("", "it is a link that leads outside of its folder", "copy the file into the folder");
  }
  files_.push_back(std::make_unique<SafetensorsFile>(main_));
  for (const auto& [name, entry] : files_[0]->entries()) {
    tensors_[name] = {entry, 0};
  }
}

void Weights::open_index(const fs::path& index) {
  const auto listed = read_index(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : listed) {
    shards.insert(shard);
  }
  std::vector<std::string> absent, unlisted;
  for (const std::string& shard : shards) {
    if (!present(directory_ / shard)) {
      absent.push_back(shard);
    }
  }
  for (const std::string& file : safetensors_files(directory_)) {
    if (shards.count(file) == 0) {
      unlisted.push_back(file);
    }
  }
  if (!absent.empty()) {
    const std::string more =
        unlisted.empty() ? ""
                         : fmt::format("; files that it does not list are there: {}", some_of(unlisted));
    bad("", fmt::format("it lists {} files, of which {} are absent: {}{}", shards.size(),
                        absent.size(), some_of(absent), more),
        unlisted.empty() ? "the download is incomplete"
                         : "the index is stale (files were renamed or written again), or the "
                           "download is incomplete");
  }
  std::map<std::string, std::size_t> number;
  for (const std::string& shard : shards) {
    if (!stays_inside(directory_, directory_ / shard)) {
      fail(Exit::usage,
           fmt::format("'{}': it is a link that leads outside of its folder",
                       (directory_ / shard).string()),
           "copy the file into the folder");
    }
    number[shard] = files_.size();
    files_.push_back(std::make_unique<SafetensorsFile>(directory_ / shard));
    const std::size_t file = files_.size() - 1;
    for (const auto& [name, entry] : files_[file]->entries()) {
      const auto [at, fresh] = tensors_.emplace(name, Place{entry, file});
      if (!fresh) {
        bad(name, fmt::format("tensor '{}' is also in '{}'", name,
                              files_[file]->path().filename().string()),
            "remove one of the two");
      }
    }
  }
  for (const auto& [name, shard] : listed) {
    const auto at = tensors_.find(name);
    if (at == tensors_.end() || at->second.file != number[shard]) {
      fail(Exit::usage,
           fmt::format("'{}' says that tensor '{}' is in '{}', but that file does not hold it{}",
                       index.string(), name, shard,
                       at == tensors_.end() ? ""
                                            : fmt::format(" ('{}' does)",
                                                          path_of(name).filename().string())),
           "the index does not belong to these files");
    }
  }
  for (const auto& [name, place] : tensors_) {
    if (listed.count(name) == 0) {
      bad(name, fmt::format("tensor '{}' is not listed in {}", name, kIndex),
          "the index does not belong to these files");
    }
  }
}

std::size_t Weights::bytes() const {
  std::size_t n = 0;
  for (const auto& [name, place] : tensors_) {
    n += place.entry.end - place.entry.begin;
  }
  return n;
}

const fs::path& Weights::path_of(const std::string& name) const {
  const auto at = tensors_.find(name);
  return at == tensors_.end() ? main_ : files_[at->second.file]->path();
}

void Weights::bad(const std::string& name, const std::string& what, std::string_view hint) const {
  fail(Exit::usage, fmt::format("'{}': {}", path_of(name).string(), what), hint);
}

void Weights::require(const std::string& name, const Shape& shape, std::string_view hint) const {
  const auto at = tensors_.find(name);
  if (at == tensors_.end()) {
    bad(name,
        files_.size() > 1 || main_.filename() == kIndex
            ? fmt::format("no tensor '{}' is listed, and none of its {} files holds it", name,
                          files_.size())
            : fmt::format("it has no tensor '{}'", name),
        name == "lm_head.weight"
            ? "config.json says tie_word_embeddings = false; if the head is the table, set it to true"
            : kDisagree);
  }
  const SafetensorsFile::Entry& entry = at->second.entry;
  if (entry.shape != shape) {
    bad(name,
        fmt::format("tensor '{}' is {}, config.json makes it {}", name, entry.shape.str(),
                    shape.str()),
        hint.empty() ? kDisagree : hint);
  }
  if (!is_floating(entry.type)) {
    bad(name, fmt::format("tensor '{}' holds {}", name, minirl::name(*tensor_type(entry.type))),
        "weights are F32, BF16, F16 or F64");
  }
}

void Weights::visit(const std::string& name, const SafetensorsFile::Visit& visit) const {
  const auto at = tensors_.find(name);
  if (at == tensors_.end()) {
    bad(name, fmt::format("it has no tensor '{}'", name));
  }
  files_[at->second.file]->visit(name, visit);
}

void Weights::read_into(const std::string& name, Tensor& target) const {
  const SafetensorsFile::Entry& entry = tensors_.at(name).entry;
  MINIRL_CHECK(entry.shape == target.shape(), "{} {} into {}", name, entry.shape.str(),
               target.shape().str());
  if (target.on_device()) {
    Tensor host = Tensor::empty(target.shape(), target.dtype());
    read_into(name, host);
    target.copy_from(host);
    return;
  }
  visit(name, [&](std::span<const std::byte> bytes) {
    if (stored_type(target.dtype()) == entry.type) {
      if (!bytes.empty()) {
        std::memcpy(target.raw(), bytes.data(), bytes.size());
      }
    } else if (target.dtype() == DType::f64) {
      decode(entry.type, bytes, target.span<double>());
    } else if (target.dtype() == DType::f32) {
      decode(entry.type, bytes, target.span<float>());
    } else {
      MINIRL_CHECK(target.dtype() == DType::bf16, "weights as {}", minirl::name(target.dtype()));
      std::vector<double> piece;
      const std::size_t size = size_of(entry.type), n = bytes.size() / size;
      for (std::size_t first = 0; first < n; first += kPiece) {
        piece.resize(std::min(kPiece, n - first));
        decode(entry.type, bytes.subspan(first * size, piece.size() * size), std::span(piece));
        encode(StoredType::BF16, std::span<const double>(piece),
               std::span(target.raw() + 2 * first, 2 * piece.size()));
      }
    }
  });
}

void Weights::require_finite(const std::string& name, DType dtype) const {
  const SafetensorsFile::Entry& entry = tensors_.at(name).entry;
  visit(name, [&](std::span<const std::byte> bytes) {
    const std::size_t size = size_of(entry.type), n = bytes.size() / size;
    const auto check = [&](auto piece) {
      for (std::size_t first = 0; first < n; first += kPiece) {
        piece.resize(std::min(kPiece, n - first));
        decode(entry.type, bytes.subspan(first * size, piece.size() * size), std::span(piece));
        for (std::size_t i = 0; i < piece.size(); ++i) {
          if (!std::isfinite(dtype == DType::bf16
                                 ? static_cast<double>(to_float(to_bf16(static_cast<float>(piece[i]))))
                                 : static_cast<double>(piece[i]))) {
            bad(name,
                fmt::format("tensor '{}' holds {} at index {}, as {}", name, piece[i], first + i,
                            minirl::name(dtype)),
                "this checkpoint is broken; use an earlier one");
          }
        }
      }
    };
    if (dtype == DType::f64) {
      check(std::vector<double>());
    } else {
      check(std::vector<float>());
    }
  });
}

bool Weights::equal(const std::string& a, const std::string& b) const {
  const SafetensorsFile::Entry &x = tensors_.at(a).entry, &y = tensors_.at(b).entry;
  if (x.type != y.type || x.shape != y.shape) {
    return false;
  }
  bool same = false;
  visit(a, [&](std::span<const std::byte> left) {
    visit(b, [&](std::span<const std::byte> right) {
      same = left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0;
    });
  });
  return same;
}

}  // namespace minirl
