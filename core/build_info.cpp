#include "core/build_info.h"

#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "core/exec.h"
#include "minirl_build_info.h"

namespace minirl {
namespace {

// The text after `key` and a colon on the first such line of a /proc file.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (line.rfind(key, 0) != 0 || colon == std::string::npos) {
      continue;
    }
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "unknown";
}

}  // namespace

NamedValues build_info() {
  return {{"version", MINIRL_VERSION},
          {"commit", MINIRL_COMMIT},
          {"compiler", MINIRL_COMPILER},
          {"flags", MINIRL_FLAGS},
          {"build_type", MINIRL_BUILD_TYPE}};
}

NamedValues core_libraries() {
  return {{"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                              FMT_VERSION % 100)},
          {"toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
          {"openssl", OpenSSL_version(OPENSSL_VERSION_STRING)}};
}

NamedValues machine_info() {
  utsname system{};
  uname(&system);
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  return {{"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
          {"processor", proc_value("/proc/cpuinfo", "model name")},
          {"cores", fmt::format("{}", std::thread::hardware_concurrency())},
          {"memory_gib", fmt::format("{:.1f}", static_cast<double>(pages) *
                                                   static_cast<double>(page) / 1073741824.0)},
          {"simd_best", std::string(name(best_isa()))},
          {"simd_active", std::string(name(active_isa()))}};
}

long long resident_bytes() {
  std::ifstream in("/proc/self/statm");
  long long total = 0;
  long long resident = 0;
  if (!(in >> total >> resident)) {
    return 0;
  }
  return resident * sysconf(_SC_PAGE_SIZE);
}

long long resident_bytes_max() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) {
    return 0;
  }
  return static_cast<long long>(usage.ru_maxrss) * 1024;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace minirl
