#include "core/files.h"

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace minirl {
namespace {

namespace fs = std::filesystem;

struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    char pattern[] = "/tmp/minirl_files_XXXXXX";
    path = mkdtemp(pattern);
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  std::size_t entries() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& e : fs::directory_iterator(path)) {
      ++n;
    }
    return n;
  }
};

// Runs `body` in a child process whose files may not grow beyond `bytes`: what a full disk looks
// like. Returns the child's exit status.
template <class F>
int in_small_disk(rlim_t bytes, F body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

}  // namespace

TEST_CASE("core/files: a file is replaced as a whole and leaves nothing beside it") {
  const TemporaryFolder dir;
  write_file_atomic(dir.path / "a", "one");
  write_file_atomic(dir.path / "a", "two, longer");
  CHECK(read_file(dir.path / "a") == "two, longer");
  CHECK(dir.entries() == 1);
  const std::string binary("\0\xff\n", 3);
  write_file_atomic(dir.path / "b", binary);
  CHECK(read_file(dir.path / "b") == binary);
}

TEST_CASE("core/files: what is not committed is never seen") {
  const TemporaryFolder dir;
  write_file_atomic(dir.path / "a", "old");
  {
    AtomicFile file(dir.path / "a");
    file.write("new");
    CHECK(read_file(dir.path / "a") == "old");
  }
  CHECK(read_file(dir.path / "a") == "old");
  CHECK(dir.entries() == 1);
}

TEST_CASE("core/files: a full disk is an error that says so and keeps the old file") {
  const TemporaryFolder dir;
  write_file_atomic(dir.path / "a", "old");
  const int status = in_small_disk(4096, [&] {
    try {
      write_file_atomic(dir.path / "a", std::string(100000, 'x'));
    } catch (const Error& error) {
      const std::string what = error.what();
      const bool told = what.find("cannot write") == 0 && what.find("hint:") != std::string::npos &&
                        what.find("untouched") != std::string::npos;
      return error.code() == Exit::runtime && told ? 42 : 43;
    }
    return 44;
  });
  CHECK(status == 42);
  CHECK(read_file(dir.path / "a") == "old");
  CHECK(dir.entries() == 1);
}

TEST_CASE("core/files: a process that dies in the middle of a write leaves the old file") {
  const TemporaryFolder dir;
  write_file_atomic(dir.path / "a", "old");
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(dir.path / "a");
    file.write("half of the ne");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(read_file(dir.path / "a") == "old");
}

TEST_CASE("core/files: unreadable, missing and unwritable places are named") {
  const TemporaryFolder dir;
  const auto error_of = [](auto body) {
    try {
      body();
    } catch (const Error& error) {
      return fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
    }
    return std::string("(no error)");
  };
  CHECK(error_of([&] { read_file(dir.path / "no"); }).find("2: cannot read '") == 0);
  CHECK(error_of([&] { read_file(dir.path / "no"); }).find("No such file") != std::string::npos);
  CHECK(error_of([&] { read_file(dir.path); }).find("irectory") != std::string::npos);
  CHECK(error_of([&] {
          write_file_atomic(dir.path / "no" / "a", "x");
        }).find("1: cannot create '") == 0);
  write_file_atomic(dir.path / "file", "x");
  CHECK(error_of([&] {
          make_directory(dir.path / "file" / "b", Exit::usage);
        }).find("2: cannot create the folder") == 0);
  CHECK(error_of([&] {
          make_directory(dir.path / "file", Exit::usage);
        }).find("2: cannot create the folder") == 0);
  make_directory(dir.path / "x" / "y" / "z");
  make_directory(dir.path / "x" / "y" / "z");
  CHECK(fs::is_directory(dir.path / "x" / "y" / "z"));
}

TEST_CASE("core/files: appended lines are whole and in order") {
  const TemporaryFolder dir;
  {
    AppendFile log(dir.path / "log");
    log.line("one");
    log.sync();
  }
  AppendFile log(dir.path / "log");
  log.line("two");
  CHECK(read_file(dir.path / "log") == "one\ntwo\n");
}

TEST_CASE("core/files: a directory is published whole or not at all") {
  const TemporaryFolder dir;
  make_directory(dir.path / "tmp");
  write_file_atomic(dir.path / "tmp" / "a", "x");
  publish_directory(dir.path / "tmp", dir.path / "final");
  CHECK(read_file(dir.path / "final" / "a") == "x");
  CHECK_FALSE(fs::exists(dir.path / "tmp"));
  make_directory(dir.path / "tmp");
  write_file_atomic(dir.path / "tmp" / "b", "y");
  CHECK_THROWS_AS(publish_directory(dir.path / "tmp", dir.path / "final"),
                  Error);  // it exists and is not empty
  CHECK(read_file(dir.path / "final" / "a") == "x");
}

}  // namespace minirl
