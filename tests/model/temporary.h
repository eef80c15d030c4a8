// tests/model/temporary.h -- a folder of its own for a test, removed at the end.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/error.h"

namespace minirl::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "minirl-test-XXXXXX").string();
    MINIRL_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace minirl::test
