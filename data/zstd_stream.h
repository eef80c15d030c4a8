// minirl data/zstd_stream.h -- zstd-compressed files, piece by piece, so that they may be larger
// than the memory. What is written is a plain .zst file: `zstd -d` reads it.
#pragma once
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "core/files.h"

namespace minirl::data {

/// Compresses into an AtomicFile: nothing is visible before commit(). Equal input gives equal
/// bytes. Throws Exit::runtime when the disk is full or the like.
class ZstdWriter {
 public:
  explicit ZstdWriter(std::filesystem::path path);
  ~ZstdWriter();
  ZstdWriter(const ZstdWriter&) = delete;
  ZstdWriter& operator=(const ZstdWriter&) = delete;
  void write(std::string_view bytes);
  void commit();

 private:
  void pump(std::string_view bytes, bool end);
  struct Context;
  std::unique_ptr<Context> context_;
  AtomicFile file_;
};

class ZstdReader {
 public:
  /// Throws Exit::usage when the file cannot be opened.
  explicit ZstdReader(std::filesystem::path path);
  ~ZstdReader();
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;
  /// Up to `size` bytes; fewer only at the end. Throws Exit::usage where the file is damaged or
  /// cut.
  std::string read(std::size_t size);

 private:
  struct Context;
  std::filesystem::path path_;
  std::ifstream file_;
  std::unique_ptr<Context> context_;
};

/// The whole content; Exit::usage beyond `limit` bytes.
std::string read_zstd_file(const std::filesystem::path& path,
                           std::size_t limit = std::size_t{1} << 32);

}  // namespace minirl::data
