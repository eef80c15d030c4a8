// minirl model/staged_directory.h -- a directory that appears under its name when it is complete.
#pragma once
#include <filesystem>

#include "core/error.h"

namespace minirl {

/// A folder beside `final_path` under a temporary name of its own. publish() syncs and renames it;
/// without, the destructor removes it.
class StagedDirectory {
 public:
  /// Throws Error(usage) if `final_path` exists, Error(runtime) if the folder cannot be made.
  explicit StagedDirectory(std::filesystem::path final_path);
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;
  const std::filesystem::path& path() const { return staged_; }
  void publish();

 private:
  std::filesystem::path final_, staged_;
};

/// Throws Error(runtime), with both numbers, unless the disk of `path` (or of its nearest parent that
/// exists) has room for so many bytes.
void require_disk_space(const std::filesystem::path& path, std::size_t bytes);

/// "1.2 GB"
std::string decimal_bytes(std::size_t bytes);

}  // namespace minirl
