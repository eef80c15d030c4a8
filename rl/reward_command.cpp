#include "rl/reward_command.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"

namespace minirl::rl {
namespace {

constexpr std::size_t kStderrLines = 10;
constexpr std::size_t kLongestLine = 2000;               // of stderr that is kept
constexpr std::size_t kLongestAnswer = 1 << 20;          // bytes of one line of answers
constexpr auto kGrace = std::chrono::milliseconds(300);  // between the end of input and SIGKILL

void close_end(int& end) {
  if (end >= 0) {
    ::close(end);
  }
  end = -1;
}

void never_block(int end) {
  ::fcntl(end, F_SETFL, ::fcntl(end, F_GETFL) | O_NONBLOCK);
}

/// A pipe whose ends are closed in programs that others start.
std::array<int, 2> pipe_ends() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail(Exit::runtime, fmt::format("cannot start a reward command: {}", std::strerror(errno)));
  }
  return ends;
}

/// write() to a program that may be gone: EPIPE instead of the signal, for this thread only.
ssize_t write_quietly(int end, std::string_view bytes) {
  sigset_t broken;
  sigset_t before;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken, &before);
  const ssize_t n = ::write(end, bytes.data(), bytes.size());
  const int error = errno;
  if (n < 0 && error == EPIPE) {
    const timespec now{0, 0};
    ::sigtimedwait(&broken, nullptr, &now);  // takes the pending signal
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

}  // namespace

RewardCommand::RewardCommand(std::string command, double timeout_s)
    : command_(std::move(command)),
      timeout_(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s))),
      timeout_s_(timeout_s) {}

RewardCommand::~RewardCommand() {
  stop();
}

void RewardCommand::start() {
  const auto in = pipe_ends();
  const auto out = pipe_ends();
  const auto err = pipe_ends();
  const int parent = ::getpid();
  const char* const command = command_.c_str();
  const int child = ::fork();
  if (child < 0) {
    for (const auto& ends : {in, out, err}) {
      ::close(ends[0]);
      ::close(ends[1]);
    }
    fail(Exit::runtime, fmt::format("cannot start a reward command: {}", std::strerror(errno)));
  }
  if (child == 0) {  // only calls that are safe after a fork of a threaded program
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
      ::_exit(127);
    }
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::setpgid(child, child);
  process_ = child;
  in_ = in[1];
  out_ = out[0];
  err_ = err[0];
  for (const int end : {in[0], out[1], err[1]}) {
    ::close(end);
  }
  for (const int end : {in_, out_, err_}) {
    never_block(end);
  }
  stderr_lines_.clear();
  stderr_rest_.clear();
}

std::string RewardCommand::stop() {
  if (process_ < 0) {
    return "it was not running";
  }
  close_end(in_);
  int status = 0;
  bool ended = false;
  const auto until = Clock::now() + kGrace;
  while (!(ended = ::waitpid(process_, &status, WNOHANG) == process_) && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(-process_, SIGKILL);  // also what it started itself
  if (!ended) {
    ::waitpid(process_, &status, 0);
  }
  if (err_ >= 0) {  // its last words
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(err_, buffer.data(), buffer.size())) > 0;) {
      keep_stderr({buffer.data(), static_cast<std::size_t>(n)});
    }
  }
  close_end(out_);
  close_end(err_);
  process_ = -1;
  if (!ended) {
    return "it was killed";
  }
  return WIFEXITED(status) ? fmt::format("it ended with exit code {}", WEXITSTATUS(status))
                           : fmt::format("it was ended by signal {}", WTERMSIG(status));
}

void RewardCommand::keep_stderr(std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      stderr_lines_.push_back(std::move(stderr_rest_));
      stderr_rest_.clear();
      if (stderr_lines_.size() > kStderrLines) {
        stderr_lines_.pop_front();
      }
    } else if (stderr_rest_.size() < kLongestLine) {
      stderr_rest_ += c;
    }
  }
}

std::string RewardCommand::last_words() const {
  std::string out;
  for (const std::string& line : stderr_lines_) {
    out.append("\n    ").append(line);
  }
  if (!stderr_rest_.empty()) {
    out.append("\n    ").append(stderr_rest_);
  }
  return out.empty() ? "\n  it wrote nothing to stderr"
                     : fmt::format("\n  the last lines of its stderr:{}", out);
}

std::string RewardCommand::read_line(std::string_view line, std::vector<RewardResult>& results,
                                     std::vector<bool>& seen, std::size_t& missing) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
    return "";
  }
  const auto quoted = [&] { return fmt::format("\"{}\"", line.substr(0, 120)); };
  const auto row = nlohmann::json::parse(line, nullptr, false);
  if (!row.is_object() || !row.contains("id") || !row.at("id").is_number_integer() ||
      !row.contains("score") || !row.at("score").is_number()) {
    return fmt::format("{}{}",
                       "it wrote a line that is not {\"id\": ..., \"score\": ...}: ", quoted());
  }
  const auto id = row.at("id").get<std::int64_t>();
  if (id < 0 || static_cast<std::size_t>(id) >= results.size()) {
    return fmt::format("{}{}", "it scored an id that was not asked for: ", quoted());
  }
  const auto at = static_cast<std::size_t>(id);
  if (seen[at]) {
    return fmt::format("{}{}", "it scored an id twice: ", quoted());
  }
  const double score = row.at("score").get<double>();
  if (!std::isfinite(score)) {
    return fmt::format("{}{}", "a score is not finite: ", quoted());
  }
  seen[at] = true;
  --missing;
  results[at].score = score;
  results[at].answered = row.value("answered", true);
  results[at].extracted = row.contains("extracted") && row.at("extracted").is_string()
                              ? row.at("extracted").get<std::string>()
                              : "";
  results[at].why = row.contains("why") && row.at("why").is_string()
                        ? row.at("why").get<std::string>()
                        : "the reward command's score";
  return "";
}

std::string RewardCommand::try_batch(const std::string& input, std::size_t rows,
                                     std::vector<RewardResult>& results) {
  results.assign(rows, {});
  std::vector<bool> seen(rows, false);
  std::size_t missing = rows;
  std::size_t written = 0;
  std::string pending;
  std::array<char, 1 << 16> buffer{};
  const auto until = Clock::now() + timeout_;
  while (missing > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) {
      return fmt::format("{} of {} rows had no score after {:g} s", missing, rows, timeout_s_);
    }
    // All three at once: a program may write before it has read, and neither side may wait.
    std::array<pollfd, 3> ends{{{out_, POLLIN, 0}, {err_, POLLIN, 0}, {in_, POLLOUT, 0}}};
    if (written == input.size()) {
      ends[2].fd = -1;
    }
    if (::poll(ends.data(), ends.size(), static_cast<int>(left)) < 0 && errno != EINTR) {
      return fmt::format("poll: {}", std::strerror(errno));
    }
    if (ends[1].revents != 0) {
      const ssize_t n = ::read(err_, buffer.data(), buffer.size());
      if (n > 0) {
        keep_stderr({buffer.data(), static_cast<std::size_t>(n)});
      } else if (n == 0) {
        close_end(err_);
      }
    }
    if (ends[2].revents != 0) {
      const ssize_t n = write_quietly(in_, std::string_view(input).substr(written));
      if (n > 0) {
        written += static_cast<std::size_t>(n);
      } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        return fmt::format("it does not read its input ({})", std::strerror(errno));
      }
    }
    if (ends[0].revents == 0) {
      continue;
    }
    const ssize_t n = ::read(out_, buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      return fmt::format("it closed its output with {} of {} rows without a score", missing, rows);
    }
    pending.append(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    std::size_t at = 0;
    for (std::size_t end = 0; (end = pending.find('\n', at)) != std::string::npos; at = end + 1) {
      const std::string fault =
          read_line(std::string_view(pending).substr(at, end - at), results, seen, missing);
      if (!fault.empty()) {
        return fault;
      }
    }
    pending.erase(0, at);
    if (pending.size() > kLongestAnswer) {
      return "it wrote a line of more than a megabyte";
    }
  }
  return pending.find_first_not_of(" \t\r\n") == std::string::npos
             ? ""
             : "it wrote more than one line a row";
}

std::vector<RewardResult> RewardCommand::score(const std::vector<Row>& rows) {
  std::vector<RewardResult> results;
  if (rows.empty()) {
    return results;
  }
  std::string input;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const nlohmann::ordered_json row = {{"id", i},
                                        {"gold", std::string(rows[i].gold)},
                                        {"completion", std::string(rows[i].completion)}};
    input += row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::string fault;
  std::string ending;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (process_ < 0) {
      restarts_ += attempt > 0 ? 1 : 0;
      start();
    }
    fault = try_batch(input, rows.size(), results);
    if (fault.empty()) {
      return results;
    }
    ending = stop();
  }
  fail(Exit::data,
       fmt::format("the reward command failed twice on a batch of {} rows: {}; {}\n  command: {}{}",
                   rows.size(), fault, ending, command_, last_words()),
       "run it by hand with one line {\"id\": 0, \"gold\": \"5\", \"completion\": "
       "\"\\\\boxed{5}\"}; "
       "it must answer {\"id\": 0, \"score\": 1} and flush");
}

}  // namespace minirl::rl
