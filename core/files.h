// minirl core/files.h -- files that are either whole or not there.
// A file is written under a temporary name in its own folder, synced, renamed over its final name,
// and the folder is synced: whoever is interrupted at any instant leaves the old file or the new
// one.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace minirl {

/// The whole file. Throws Exit::usage when it cannot be read ("cannot read 'x': no such file").
std::string read_file(const std::filesystem::path& path);

/// Streams one file to disk; nothing is visible under `path` before commit() returns. Without
/// commit the destructor removes what was written. Every failure, a full disk among them, throws
/// Exit::runtime and leaves a former file of that name untouched.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Syncs, renames, syncs the folder. Call once.
  void commit();

 private:
  [[noreturn]] void fail_write(const char* doing, int error);
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  Index written_ = 0;
};

void write_file_atomic(const std::filesystem::path& path, std::string_view content);

/// Appends one line and hands it to the system in one call, so that a killed process leaves whole
/// lines. `sync` also waits for the disk.
class AppendFile {
 public:
  /// Creates the file if need be. Throws Exit::runtime.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  void line(std::string_view text);
  void sync();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Creates `path` and its parents. Throws with `code` ("cannot create 'x': permission denied").
void make_directory(const std::filesystem::path& path, Exit code = Exit::runtime);
/// Makes the names inside `directory` durable. Throws Exit::runtime.
void sync_directory(const std::filesystem::path& directory);
/// Syncs a finished temporary directory, renames it to `final_path` (which must not exist), syncs
/// the parent.
void publish_directory(const std::filesystem::path& temporary,
                       const std::filesystem::path& final_path);
/// Message for an errno of a file operation, with advice for a full disk or missing rights.
std::string file_error(const char* doing, const std::filesystem::path& path, int error);
/// What to do about an errno of a file operation; may be empty.
std::string file_hint(int error);

}  // namespace minirl
