// Runs the minirl binary in a temporary folder, as a user would.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"

namespace minirl::cli_test {

struct Result {
  int code = -1;
  std::string out, err;
};

class Folder {
 public:
  Folder() {
    char pattern[] = "/tmp/minirl_cli_XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path;

  void write(const std::string& name, const std::string& text) const {
    write_file_atomic(path / name, text);
  }
  std::string read(const std::string& name) const { return read_file(path / name); }
  bool has(const std::string& name) const { return std::filesystem::exists(path / name); }

  /// `minirl arguments...` with this folder as the working directory. `prepare` runs in the child
  /// first.
  template <class Prepare>
  Result run(const std::vector<std::string>& arguments, Prepare prepare) const {
    const auto out = path / ".stdout";
    const auto err = path / ".stderr";
    std::fflush(nullptr);  // or the child would write our buffers again
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(path.c_str()) != 0 || freopen(out.c_str(), "w", stdout) == nullptr ||
          freopen(err.c_str(), "w", stderr) == nullptr) {
        _exit(99);
      }
      prepare();
      std::vector<char*> argv = {const_cast<char*>("minirl")};
      for (const auto& a : arguments) {
        argv.push_back(const_cast<char*>(a.c_str()));
      }
      argv.push_back(nullptr);
      execv(MINIRL_BINARY, argv.data());
      _exit(98);
    }
    int status = 0;
    waitpid(child, &status, 0);
    Result r;
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    r.out = read_file(out);
    r.err = read_file(err);
    return r;
  }
  Result run(const std::vector<std::string>& arguments) const {
    return run(arguments, [] {});
  }
};

/// A run of a second or two: a very small model, a few steps. It knows no answer, but ends at different
/// lengths, and these are paid: gradients are not 0.
inline std::vector<std::string> tiny_run(std::vector<std::string> more = {}) {
  std::vector<std::string> args = {"train", "qwen3.toml"};
  for (const char* s :
       {"model.hidden_size=32", "model.num_layers=2", "model.num_heads=2", "model.num_kv_heads=1",
        "model.head_dim=16", "model.ffn_size=64", "pretrain.steps=6", "pretrain.batch_sequences=8",
        "pretrain.warmup_steps=2", "rollout.prompts_per_step=4", "rollout.group_size=4",
        "rollout.max_new_tokens=96", "reward.truncated_reward=soft", "reward.soft_buffer_tokens=95",
        "train.steps=4", "eval.prompts=6", "eval.samples=2", "eval.every=2", "checkpoint.every=2",
        "checkpoint.pretrain_every=3"}) {
    args.emplace_back("--set");
    args.emplace_back(s);
  }
  for (auto& m : more) {
    args.push_back(std::move(m));
  }
  return args;
}

}  // namespace minirl::cli_test
