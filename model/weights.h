// minirl model/weights.h -- the tensors of a Hugging Face directory: one model.safetensors, or several
// files ("shards") and the index model.safetensors.index.json that says which tensor lies where.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/safetensors.h"

namespace minirl {

/// Text files of a checkpoint are often something else: a Git LFS pointer or an HTML page. Says so, or
/// gives "".
std::string what_else_it_is(std::string_view text);
/// Throws Error(usage) where `directory` holds no model of its own: it is missing, or it holds a LoRA
/// adapter (whose base, rank and alpha the error names).
void require_model_directory(const std::filesystem::path& directory);

/// A directory's tensors. Opening checks every file's header (SafetensorsFile) and that index and
/// files agree: no shard outside of the directory, none absent, no tensor twice, none that only one of
/// the two knows. Every error names file and tensor.
class Weights {
 public:
  explicit Weights(const std::filesystem::path& directory);

  struct Place {
    SafetensorsFile::Entry entry;
    std::size_t file = 0;
  };
  /// All tensors by name.
  const std::map<std::string, Place>& tensors() const { return tensors_; }
  bool contains(const std::string& name) const { return tensors_.count(name) != 0; }
  std::size_t files() const { return files_.size(); }
  std::size_t bytes() const;  // of all tensors
  /// The file that holds a tensor.
  const std::filesystem::path& path_of(const std::string& name) const;

  /// Throws Error(usage): the tensor is absent (and where it was looked for), has another shape, or
  /// holds no floating-point numbers. `hint` is printed for a wrong shape.
  void require(const std::string& name, const Shape& shape, std::string_view hint = {}) const;
  /// Maps the bytes of a tensor for the time of the call.
  void visit(const std::string& name, const SafetensorsFile::Visit& visit) const;
  /// The values as f32, f64 or bf16 into `target`, whose shape must be that of the entry.
  void read_into(const std::string& name, Tensor& target) const;
  /// Throws Error(usage) that names file, tensor, value and index unless all values are finite as `dtype`.
  void require_finite(const std::string& name, DType dtype) const;
  /// Are the bytes of both tensors equal (and their types and shapes)?
  bool equal(const std::string& a, const std::string& b) const;
  /// An error about a tensor, or about all of them (`name` empty).
  [[noreturn]] void bad(const std::string& name, const std::string& what,
                        std::string_view hint = {}) const;

 private:
  void open_index(const std::filesystem::path& index);
  std::filesystem::path directory_, main_;  // main_: what errors about no file in particular name
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Place> tensors_;
};

}  // namespace minirl
