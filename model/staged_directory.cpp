#include "model/staged_directory.h"

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>

#include "core/files.h"

namespace minirl {

namespace fs = std::filesystem;

StagedDirectory::StagedDirectory(fs::path final_path) : final_(std::move(final_path)) {
  if (!final_.has_filename()) {  // "folder/"
    final_ = final_.parent_path();
  }
  std::error_code ignored;
  if (final_.empty() || fs::exists(final_, ignored) || fs::is_symlink(final_, ignored)) {
    fail(Exit::usage, fmt::format("'{}' exists already", final_.string()),
         "choose another name, or remove it first");
  }
  const fs::path parent = final_.has_parent_path() ? final_.parent_path() : fs::path(".");
  make_directory(parent);
  std::string pattern =
      (parent / fmt::format(".{}.tmp-XXXXXX", final_.filename().string())).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    const int error = errno;
    fail(Exit::runtime, file_error("create the folder", final_, error), file_hint(error));
  }
  staged_ = pattern;
  const mode_t mask = ::umask(0);  // mkdtemp gives 0700; a result has the usual rights
  ::umask(mask);
  ::chmod(staged_.c_str(), 0777 & ~mask);
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!staged_.empty()) {
    fs::remove_all(staged_, ignored);
  }
}

void StagedDirectory::publish() {
  publish_directory(staged_, final_);
  staged_.clear();
}

std::string decimal_bytes(std::size_t bytes) {
  const auto n = static_cast<double>(bytes);
  return n >= 1e9   ? fmt::format("{:.1f} GB", n / 1e9)
         : n >= 1e6 ? fmt::format("{:.1f} MB", n / 1e6)
                    : fmt::format("{:.1f} KB", n / 1e3);
}

void require_disk_space(const fs::path& path, std::size_t bytes) {
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  while (!at.empty() && !fs::exists(at, error) && at != at.parent_path()) {
    at = at.parent_path();
  }
  const fs::space_info space = fs::space(at, error);
  if (!error && space.available < bytes) {
    fail(Exit::runtime,
         fmt::format("'{}' needs {}, the disk has {} left", path.string(), decimal_bytes(bytes),
                     decimal_bytes(space.available)),
         "free some space, choose another disk, or a smaller type of weights (--dtype bf16)");
  }
}

}  // namespace minirl
