#include "core/files.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace minirl {
namespace {

namespace fs = std::filesystem;

// Calls that a signal interrupts are repeated.
template <class F>
auto retry(F call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) {
      return result;
    }
  }
}

// 0, or the errno of the failed call.
int write_all(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = retry([&] { return ::write(descriptor, data, size); });
    if (n < 0) {
      return errno;
    }
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return 0;
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

std::string file_error(const char* doing, const fs::path& path, int error) {
  return fmt::format("cannot {} '{}': {}", doing, path.string(),
                     std::generic_category().message(error));
}

std::string file_hint(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "the disk (or your quota) is full; files that were complete before are untouched: "
             "free some space and go on";
    case EFBIG:
      return "the file is larger than the system or `ulimit -f` allows; files that were complete "
             "before are untouched";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder that you may write to, e.g. --set run.dir=/tmp/runs";
    case EMFILE:
    case ENFILE:
      return "too many files are open: raise `ulimit -n`";
    default:
      return "";
  }
}

std::string read_file(const fs::path& path) {
  struct Closer {
    int descriptor;
    ~Closer() {
      if (descriptor >= 0) {
        ::close(descriptor);
      }
    }
  };
  const Closer file{retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); })};
  if (file.descriptor < 0) {
    fail(Exit::usage, file_error("read", path, errno));
  }
  std::string out;
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = retry([&] { return ::read(file.descriptor, buffer, sizeof buffer); });
    if (n < 0) {
      fail(Exit::usage, file_error("read", path, errno));
    }
    if (n == 0) {
      return out;
    }
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::string pattern =
      (parent_of(path_) / fmt::format(".{}.tmp-XXXXXX", path_.filename().string())).string();
  descriptor_ = retry([&] { return ::mkostemp(pattern.data(), O_CLOEXEC); });
  if (descriptor_ < 0) {
    const int error = errno;
    fail(Exit::runtime, file_error("create", path_, error), file_hint(error));
  }
  temporary_ = pattern;
  const mode_t mask = ::umask(0);  // mkostemp gives 0600; a result file has the usual rights
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::fail_write(const char* doing, int error) {
  fail(Exit::runtime,
       fmt::format("{} ({} bytes were written before)", file_error(doing, path_, error), written_),
       file_hint(error));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  MINIRL_CHECK(descriptor_ >= 0, "'{}' is already committed", path_.string());
  const int error =
      write_all(descriptor_, reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (error != 0) {
    fail_write("write", error);
  }
  written_ += static_cast<Index>(bytes.size());
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::commit() {
  MINIRL_CHECK(descriptor_ >= 0, "'{}' is already committed", path_.string());
  // Some file systems report a full disk only here.
  if (retry([&] { return ::fsync(descriptor_); }) != 0) {
    fail_write("sync", errno);
  }
  const int closed = ::close(descriptor_);
  const int close_error = errno;
  descriptor_ = -1;
  if (closed != 0 && close_error != EINTR) {
    fail_write("close", close_error);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_write("rename to", errno);
  }
  temporary_.clear();
  sync_directory(parent_of(path_));
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AppendFile::AppendFile(fs::path path) : path_(std::move(path)) {
  descriptor_ =
      retry([&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) {
    const int error = errno;
    fail(Exit::runtime, file_error("open", path_, error), file_hint(error));
  }
}

AppendFile::~AppendFile() {
  ::close(descriptor_);
}

void AppendFile::line(std::string_view text) {
  std::string all(text);
  all += '\n';
  const int error = write_all(descriptor_, all.data(), all.size());
  if (error != 0) {
    fail(Exit::runtime, file_error("append to", path_, error), file_hint(error));
  }
}

void AppendFile::sync() {
  if (retry([&] { return ::fsync(descriptor_); }) != 0) {
    const int error = errno;
    fail(Exit::runtime, file_error("sync", path_, error), file_hint(error));
  }
}

void make_directory(const fs::path& path, Exit code) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    fail(code, file_error("create the folder", path, error.value()), file_hint(error.value()));
  }
}

void sync_directory(const fs::path& directory) {
  const int descriptor =
      retry([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) {
    fail(Exit::runtime, file_error("open", directory, errno), file_hint(errno));
  }
  const int result = retry([&] { return ::fsync(descriptor); });
  const int error = errno;
  ::close(descriptor);
  // Some network file systems cannot sync a folder and say so; their renames are as durable as they
  // get.
  if (result != 0 && error != EINVAL && error != ENOTSUP) {
    fail(Exit::runtime, file_error("sync", directory, error), file_hint(error));
  }
}

void publish_directory(const fs::path& temporary, const fs::path& final_path) {
  sync_directory(temporary);
  if (::rename(temporary.c_str(), final_path.c_str()) != 0) {
    const int error = errno;
    fail(Exit::runtime, file_error("rename to", final_path, error), file_hint(error));
  }
  sync_directory(parent_of(final_path));
}

}  // namespace minirl
