// minirl bench/peer_process.h -- a program of somebody else that answers one JSON line a JSON line.
#pragma once
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace minirl::bench {

class PeerProcess {
 public:
  using Json = nlohmann::json;

  /// `python` runs bench/peers/torch_model.py at `script`, with the set-up that makes it fastest.
  PeerProcess(const std::string& python, const std::string& script) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) { return; }
    std::signal(SIGPIPE, SIG_IGN);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      // OpenBLAS takes AVX-512 kernels on processors that it does not know by name only when told to, and the C
      // library's allocator gives every large block back to the system and takes it again.
      ::setenv("OPENBLAS_CORETYPE", "Cooperlake", 0);
      const char* jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
      if (std::ifstream(jemalloc).good()) {
        ::setenv("LD_PRELOAD", jemalloc, 0);
        ::setenv("MALLOC_CONF", "thp:always,dirty_decay_ms:-1,muzzy_decay_ms:-1", 0);
      }
      ::execlp(python.c_str(), python.c_str(), script.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess() {
    if (to_ != nullptr) { std::fclose(to_); }  // it reads the end of its input and ends
    if (from_ != nullptr) { std::fclose(from_); }
    if (pid_ > 0) { ::waitpid(pid_, nullptr, 0); }
  }

  /// Nothing when the program is gone.
  std::optional<Json> ask(const Json& request) {
    if (to_ == nullptr || std::fputs((request.dump() + "\n").c_str(), to_) < 0 || std::fflush(to_) != 0) { return {}; }
    std::string line;
    for (int c = 0; (c = std::fgetc(from_)) != EOF && c != '\n';) { line += static_cast<char>(c); }
    if (line.empty()) { return {}; }
    return Json::parse(line, nullptr, false);
  }
  /// The most memory that it ever held, bytes.
  double peak_bytes() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("VmHWM:", 0) == 0) { return std::strtod(line.c_str() + 6, nullptr) * 1024; }
    }
    return 0;
  }

 private:
  int pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace minirl::bench
