#include "rl/progress_line.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <doctest/doctest.h>

namespace minirl::rl {
namespace {

// What `use` writes to a file, which is not a terminal.
template <class Use>
std::string written(const std::string& mode, Use use) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    ProgressLine line(mode, file);
    use(line);
  }
  std::string out(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  REQUIRE(std::fread(out.data(), 1, out.size(), file) == out.size());
  std::fclose(file);
  return out;
}

void hundred_steps(ProgressLine& line) {
  line.start("train", 0, 100);
  for (Index s = 1; s <= 100; ++s) {
    line.step(s, fmt::format("loss {}", s));
  }
}

}  // namespace

TEST_CASE(
    "rl/progress_line: away from a terminal a fast phase prints its first and last step only") {
  const std::string out = written("auto", hundred_steps);
  CHECK(std::count(out.begin(), out.end(), '\n') == 2);
  CHECK(out.find("train   1/100  loss 1 ") == 0);
  CHECK(out.find("train 100/100  loss 100 ") != std::string::npos);
  CHECK(out.find("MiB") != std::string::npos);
  CHECK(out.find("ETA") != std::string::npos);
  CHECK(out.find('\r') == std::string::npos);
}

TEST_CASE(
    "rl/progress_line: in line style each step takes the place of the one before, and notes stand "
    "alone") {
  const std::string out = written("line", [](ProgressLine& line) {
    hundred_steps(line);
    line.note("a note");
  });
  CHECK(std::count(out.begin(), out.end(), '\r') == 99);
  CHECK(out.find("100/100") != std::string::npos);
  CHECK(out.substr(out.size() - 8) == "\na note\n");
}

TEST_CASE("rl/progress_line: off says nothing") {
  CHECK(written("off", [](ProgressLine& line) {
          hundred_steps(line);
          line.note("a note");
        }).empty());
}

TEST_CASE("rl/progress_line: durations are told in the unit that fits") {
  CHECK(duration(0.04) == "0.0 s");
  CHECK(duration(59.9) == "59.9 s");
  CHECK(duration(65) == "1 min 05 s");
  CHECK(duration(3600 * 2 + 60 * 9) == "2 h 09 min");
}

}  // namespace minirl::rl
