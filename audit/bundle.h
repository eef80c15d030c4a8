// minirl audit/bundle.h -- one file from which another machine checks one step: the state before
// it, the configuration, the ledger, and what the run read from elsewhere (docs/formats.md).
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/task.h"
#include "rl/trainer.h"

namespace minirl::audit {

inline constexpr int kBundleFormat = 1;

struct BundleInfo {
  Index step = 0;
};

/// A folder below the system's temporary one, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Collects a bundle while a step is made again.
class BundleDraft {
 public:
  /// Before the step: `trainer` is in the state that goes into the bundle, `root` the run's folder.
  BundleDraft(const std::filesystem::path& root, const rl::Trainer& trainer);
  /// After the step: the problems from number `first` on that it drew, where they come from files.
  void add_examples(const rl::Trainer& trainer, Index first);
  void write(const std::filesystem::path& file, Index step) const;

 private:
  ScratchFolder scratch_;
};

/// Unpacks, and checks every file against the list of the bundle. Throws Error(usage) where it is
/// no bundle, or of another format; Error(mismatch) where a file has another hash than the list
/// says.
class OpenBundle {
 public:
  explicit OpenBundle(const std::filesystem::path& file);
  const std::filesystem::path& root() const { return scratch_.path(); }
  const BundleInfo& info() const { return info_; }

 private:
  ScratchFolder scratch_;
  BundleInfo info_;
};

/// The problems of examples.jsonl of an unpacked bundle by their number; null where it has none.
std::unique_ptr<data::Task> bundled_task(const std::filesystem::path& root);

}  // namespace minirl::audit
