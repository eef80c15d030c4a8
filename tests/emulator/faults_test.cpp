// The emulator finds planted faults, each in the builds that can see it, and is silent about their correct twins.
#include "tests/emulator/faults.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>

#include "tests/emulator/engine.h"

using namespace emulator;

namespace {

constexpr std::uint64_t kOrders = 5;

/// Runs the kernel under several orders of threads; "" when all is well, or what was found.
std::string look_at(const Planted& planted, bool faulty) {
  std::vector<float> first;
  std::string found;
  for (std::uint64_t order = 0; order < kOrders && found.empty(); ++order) {
    options().order = order;
    try {
      const std::vector<float> out = planted.run(faulty);
      for (const float x : out) {
        if (std::isnan(x)) { found = "NaN"; }
      }
      if (order == 0) { first = out; }
      if (out.size() != first.size() || std::memcmp(out.data(), first.data(), out.size() * sizeof(float)) != 0) { found = "order"; }
    } catch (const std::exception& e) { found = e.what(); }
  }
  options().order = 0;
  return found;
}

/// The same in a process of its own: sanitizers end theirs.
std::string look_in_child(const Planted& planted, bool faulty) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    const std::string found = look_at(planted, faulty);
    const ssize_t written = write(2, found.data(), found.size());
    _exit(written == static_cast<ssize_t>(found.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) { said.append(buffer, static_cast<std::size_t>(n)); }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return said;
}

const std::string& expected(const Planted& planted) {
  switch (build()) {
    case Build::address: return planted.address;
    case Build::race: return planted.race;
    default: return planted.plain;
  }
}

}  // namespace

TEST_CASE("emulator/faults: every planted fault is found, with what and where") {
  int found_here = 0;
  for (const Planted& planted : planted_faults()) {
    CAPTURE(std::string(planted.name));
    const std::string& wanted = expected(planted);
    if (wanted.empty()) { continue; }
    const std::string said = look_in_child(planted, true);
    CAPTURE(said);
    CHECK(said.find(wanted) != std::string::npos);
    ++found_here;
    // A fault inside a kernel names a line of its source.
    const bool names_a_line = said.find("faults.cu:") != std::string::npos || said.find("faults.cu.cpp:") != std::string::npos;
    const bool in_kernel = wanted.rfind("race", 0) == 0 || wanted.rfind("out of", 0) == 0 || wanted == "deadlock" || wanted.rfind("divergent", 0) == 0;
    if (in_kernel) { CHECK(names_a_line); }
  }
  CHECK(found_here >= 13);
}

TEST_CASE("emulator/faults: no build complains about the correct kernels, under any order of threads") {
  for (const Planted& planted : planted_faults()) {
    CAPTURE(std::string(planted.name));
    CHECK(look_at(planted, false) == "");
  }
}

TEST_CASE("emulator/faults: together the three builds see every fault") {
  for (const Planted& planted : planted_faults()) {
    CAPTURE(std::string(planted.name));
    CHECK_FALSE((planted.plain.empty() && planted.address.empty() && planted.race.empty()));
  }
}
