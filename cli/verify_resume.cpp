// minirl verify resume: a run that is killed and resumed against one that is not, in child
// processes of this very program.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "audit/bundle.h"
#include "cli/config_args.h"
#include "cli/verify.h"
#include "core/files.h"
#include "core/signals.h"
#include "rl/ledger.h"

namespace minirl::cli {
namespace {

namespace fs = std::filesystem;

struct Args {
  std::string config = "qwen3.toml";
  std::vector<std::string> sets;
  Index kill_at = 2;
  double timeout_s = 600;
};

/// Small enough for seconds, and with rewards that differ (an untrained model knows no answer, but it ends
/// at different lengths): without gradients there would be little to go wrong. --set comes after these.
const std::vector<std::string> kSmall = {"model.hidden_size=32",
                                         "model.num_layers=2",
                                         "model.num_heads=2",
                                         "model.num_kv_heads=1",
                                         "model.head_dim=16",
                                         "model.ffn_size=64",
                                         "pretrain.steps=6",
                                         "pretrain.batch_sequences=8",
                                         "pretrain.warmup_steps=2",
                                         "rollout.prompts_per_step=4",
                                         "rollout.group_size=4",
                                         "rollout.max_new_tokens=96",
                                         "reward.truncated_reward=soft",
                                         "reward.soft_buffer_tokens=95",
                                         "train.steps=6",
                                         "eval.prompts=6",
                                         "eval.samples=2",
                                         "eval.every=0",
                                         "checkpoint.every=1",
                                         "checkpoint.pretrain_every=3"};

class Child {
 public:
  /// `minirl train CONFIG ...` with its output in `log`.
  Child(const std::vector<std::string>& arguments, const fs::path& log) {
    std::vector<char*> argv = {const_cast<char*>("minirl")};
    for (const std::string& a : arguments) {
      argv.push_back(const_cast<char*>(a.c_str()));
    }
    argv.push_back(nullptr);
    const std::string out = log.string();
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int file = ::open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
      if (file < 0 || ::dup2(file, 1) < 0 || ::dup2(file, 2) < 0) {
        ::_exit(99);
      }
      ::execv("/proc/self/exe", argv.data());
      ::_exit(98);
    }
    MINIRL_CHECK(pid_ > 0, "no child process: errno {}", errno);
  }
  ~Child() {
    if (!done_) {
      kill();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Has it ended? Its exit code, 128 + signal if a signal ended it.
  std::optional<int> ended() {
    int status = 0;
    if (!done_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      done_ = true;
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return done_ ? std::optional<int>(code_) : std::nullopt;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    done_ = true;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int code() const { return code_; }

 private:
  pid_t pid_ = -1;
  bool done_ = false;
  int code_ = 0;
};

/// Waits until the child has ended or `until()`; throws after the time limit or on a signal.
template <class Until>
void wait_for(Child& child, double timeout_s, const Until& until) {
  const auto start = std::chrono::steady_clock::now();
  while (!child.ended() && !until()) {
    if (caught_signal() != 0) {
      fail(Exit::interrupted, "stopped by a signal");
    }
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
        timeout_s) {
      fail(Exit::runtime, fmt::format("a training took longer than {} s", timeout_s),
           "--timeout SECONDS");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool has_step(const fs::path& ledger, Index step) {
  std::error_code error;
  if (!fs::exists(ledger, error)) {
    return false;
  }
  return read_file(ledger).find(fmt::format("\"phase\":\"train\",\"step\":{},", step)) !=
         std::string::npos;
}

void require_ok(const Child& child, const std::string& what, const fs::path& log) {
  if (child.code() != 0) {
    const std::string text = read_file(log);
    fail(Exit::mismatch, fmt::format("{} ended with exit code {}:\n{}", what, child.code(),
                                     text.size() > 2000 ? text.substr(text.size() - 2000) : text));
  }
}

/// Train steps of a run whose gradient was not 0.
Index steps_with_gradient(const fs::path& run) {
  std::istringstream lines(read_file(run / "metrics.jsonl"));
  Index count = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto metrics = nlohmann::json::parse(line);
    count += metrics.value("train/grad_norm_max", 0.0) > 0 ? 1 : 0;
  }
  return count;
}

Exit verify_resume(const Args& args) {
  catch_signals();
  const audit::ScratchFolder scratch;
  const auto arguments = [&](const char* name, bool resume) {
    std::vector<std::string> out = {"train", args.config, "--run-name", name};
    for (const std::string& s : args.config == "qwen3.toml" ? kSmall : std::vector<std::string>{}) {
      out.insert(out.end(), {"--set", s});
    }
    for (const std::string& s : args.sets) {
      out.insert(out.end(), {"--set", s});
    }
    out.insert(out.end(), {"--set", "run.dir=" + to_toml((scratch.path() / "runs").string()),
                           "--set", "runtime.progress=plain"});
    if (resume) {
      out.emplace_back("--resume");
    }
    return out;
  };
  const fs::path whole = scratch.path() / "runs" / "whole" / "ledger.jsonl";
  const fs::path killed = scratch.path() / "runs" / "killed" / "ledger.jsonl";
  const fs::path log = scratch.path() / "log";
  {
    Child child(arguments("whole", false), log);
    wait_for(child, args.timeout_s, [] { return false; });
    require_ok(child, "the uninterrupted run", log);
  }
  {
    Child child(arguments("killed", false), log);
    wait_for(child, args.timeout_s, [&] { return has_step(killed, args.kill_at); });
    if (child.ended()) {
      fail(Exit::usage,
           fmt::format("the run ended (exit code {}) before it could be killed after step {}",
                       child.code(), args.kill_at),
           "choose a smaller --kill-at, or more train.steps");
    }
    child.kill();
  }
  const std::string left = read_file(killed);  // its last line may have no end
  const auto lines_at_kill = std::count(left.begin(), left.end(), '\n');
  {
    Child child(arguments("killed", true), log);
    wait_for(child, args.timeout_s, [] { return false; });
    require_ok(child, "the resumed run", log);
  }
  const auto a = rl::read_ledger(whole);
  const auto b = rl::read_ledger(killed);
  rl::check_chain(a);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size() || a[i].hash != b[i].hash) {
      fail(Exit::mismatch,
           fmt::format("the ledgers differ from line {} on: the run that was killed after step {} "
                       "and resumed is another run",
                       i + 1, args.kill_at),
           "compare the lines: `minirl train` the same configuration twice and look at "
           "ledger.jsonl");
    }
  }
  const auto& last = a.back().values;
  const Index taught = steps_with_gradient(whole.parent_path());
  std::fputs(
      fmt::format("killed (SIGKILL) after {} ledger lines, step {}, and resumed: {} lines of the "
                  "ledger are equal\n  weights after {}  {}\n  hash of the last line  {}\n"
                  "  train steps with a gradient  {}{}\n",
                  lines_at_kill, args.kill_at, a.size(), rl::step_words(last.phase, last.step),
                  last.weights, a.back().hash, taught,
                  taught == 0 ? ": all rewards of every group were equal, so this says little about the updates" : "")
          .c_str(),
      stdout);
  return Exit::ok;
}

void add(CLI::App& verify, Chosen& chosen) {
  const auto args = std::make_shared<Args>();
  auto* command = verify.add_subcommand(
      "resume", "train, kill, resume: the ledger must be that of a run that was not killed");
  command->add_option("CONFIG", args->config,
                      "a configuration; default: a small one of a few seconds");
  add_set_option(*command, args->sets);
  command
      ->add_option("--kill-at", args->kill_at,
                   "train step after whose ledger line the process is killed")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command->add_option("--timeout", args->timeout_s, "seconds that one training may take")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command->callback([&chosen, args] { chosen.run = [args] { return verify_resume(*args); }; });
}

const bool registered = VerifyCommands::add("resume", {&add});

}  // namespace
}  // namespace minirl::cli
