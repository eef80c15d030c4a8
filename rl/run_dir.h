// minirl rl/run_dir.h -- the folder of a run: runs/<name>/ (docs/formats.md).
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "rl/config.h"

namespace minirl::rl {

class RunDir {
 public:
  enum class Open : unsigned char {
    fresh,      // the name must be free
    resume,     // must be a run of the same configuration
    overwrite,  // a former run of that name is removed first; nothing but a run is
  };
  /// Creates or opens <run.dir>/<run.name>, takes its lock, writes config.toml (the source as it
  /// was), config.resolved.toml and env.json. Throws Exit::usage: the name is taken, there is
  /// nothing to resume, the configuration differs from the run's, the place is not writable,
  /// another process is working in it.
  RunDir(const LoadedConfig& loaded, const ConfigSource& source,
         const std::vector<std::string>& command_line, Open mode);
  ~RunDir();
  RunDir(const RunDir&) = delete;
  RunDir& operator=(const RunDir&) = delete;

  /// Removes a run that nothing was computed for: a mistake found late must not occupy the name.
  void discard();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
  std::filesystem::path ledger() const { return root_ / "ledger.jsonl"; }
  std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }
  std::filesystem::path report() const { return root_ / "report.html"; }
  std::filesystem::path rollouts(Index step) const {
    return root_ / "rollouts" / fmt::format("step-{:06}.jsonl", step);
  }
  std::filesystem::path evaluation(Index step) const {
    return root_ / "eval" / fmt::format("step-{:06}.json", step);
  }

 private:
  void lock();
  void remove_entries();
  void compare(const LoadedConfig& now) const;
  void write_env(const LoadedConfig& loaded, const std::vector<std::string>& command_line) const;
  std::filesystem::path root_;
  int lock_ = -1;
};

/// Does the folder hold a run of minirl (config.resolved.toml and env.json)?
bool is_run(const std::filesystem::path& folder);

}  // namespace minirl::rl
