// minirl model/safetensors.h -- the safetensors format: 8 bytes of header length (little-endian), a JSON
// header {"name": {"dtype", "shape", "data_offsets"}, ...}, then the data without gaps.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/tensor.h"
#include "model/stored_type.h"

namespace minirl {

/// Headers larger than this are neither written nor read (the limit of the reference implementation).
inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;

/// One tensor of a file that is to be written.
struct TensorHeader {
  std::string name;
  StoredType type = StoredType::F32;
  Shape shape;
  std::size_t bytes() const { return static_cast<std::size_t>(shape.numel()) * size_of(type); }
};

/// Streams one file to disk: the header first, then the bytes of all tensors in the given order, in pieces
/// of any size. Nothing is visible under `path` before commit(), which checks that all bytes came.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorHeader> tensors,
                    const std::map<std::string, std::string>& metadata = {});
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  AtomicFile file_;
  std::filesystem::path path_;
  std::size_t expected_ = 0, written_ = 0;
};

/// Writes all tensors into one file, atomically, in the given order.
void write_safetensors(const std::filesystem::path& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// A validated file: header size, JSON, dtypes, shapes, offsets (no gap, no overlap, nothing after the
/// end) and the file's real size are checked before anything is read. Errors name file and tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  struct Entry {
    StoredType type = StoredType::F32;
    Shape shape;
    std::size_t begin = 0, end = 0;  // into the data section
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool contains(const std::string& name) const { return entries_.count(name) != 0; }
  const std::filesystem::path& path() const { return path_; }
  /// Maps one tensor's bytes into memory for the time of the call, so that the file is never copied as a
  /// whole. The file's size is compared once more: a file that shrinks while it is open is an error, not a
  /// crash.
  using Visit = std::function<void(std::span<const std::byte> bytes)>;
  void visit(const std::string& name, const Visit& visit) const;
  /// Copies one tensor out of the file. F16, which tensors do not have, becomes f32.
  Tensor read(const std::string& name) const;
  /// ... into `target`, whose shape and dtype must be those of the entry.
  void read_into(const std::string& name, Tensor& target) const;

 private:
  void parse_header(std::string_view json);
  [[noreturn]] void bad(const std::string& what, std::string_view hint = {}) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t data_begin_ = 0, data_size_ = 0;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace minirl
