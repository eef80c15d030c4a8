// R9: the flags that can change a bit, read from compile_commands.json; and the state of the floating-point unit that they promise.
#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "core/parallel.h"

namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> out;
  for (std::string word; in >> word;) { out.push_back(word); }
  return out;
}

/// Flags that let a compiler compute something else than what is written.
bool is_forbidden(const std::string& flag) {
  for (const char* start : {"-ffast-math", "-Ofast", "-funsafe", "-fassociative-math", "-freciprocal-math", "-ffinite-math-only", "-fno-signed-zeros",
                            "-fcx-limited-range", "-fsingle-precision-constant", "-mrecip", "-mfpmath", "-mdaz-ftz", "-fdenormal-fp-math", "-ffp-model", "-mveclibabi",
                            "-fveclib", "-mlow-precision", "-mno-fma"}) {
    if (flag.rfind(start, 0) == 0) { return true; }
  }
  return flag.rfind("-ffp-contract=", 0) == 0 && flag != "-ffp-contract=off";
}

/// Flags that choose instructions: only the kernels' variants may have them, the rest of the program runs on every machine.
bool chooses_instructions(const std::string& flag) {
  return flag.rfind("-march=", 0) == 0 || flag.rfind("-mavx", 0) == 0 || flag == "-mfma" || flag.rfind("-msse", 0) == 0 || flag.rfind("-mcpu=", 0) == 0;
}

}  // namespace

TEST_CASE("contracts/flags: every file is compiled without contraction and without fast-math") {
  std::ifstream in(fs::path(MINIRL_BUILD_DIR) / "compile_commands.json");
  REQUIRE(in.good());
  const auto commands = nlohmann::json::parse(in);
  std::size_t kernels = 0;
  for (const auto& entry : commands) {
    const auto file = entry["file"].get<std::string>();
    const auto words = words_of(entry["command"].get<std::string>());
    CAPTURE(file);
    CHECK(std::count(words.begin(), words.end(), "-ffp-contract=off") >= 1);
    const bool variant = std::any_of(words.begin(), words.end(), [](const std::string& w) { return w.rfind("-DMINIRL_ISA=", 0) == 0; });
    kernels += variant;
    for (const std::string& word : words) {
      CHECK_MESSAGE(!is_forbidden(word), word);
      if (!variant) { CHECK_MESSAGE(!chooses_instructions(word), word); }
    }
  }
  CHECK(commands.size() > 100);
  CHECK(kernels >= 10);
}

TEST_CASE("contracts/flags: no source overrides the flags") {
  const std::regex override_(R"(#\s*pragma\s+(GCC\s+(optimize|target|push_options)|STDC\s+FP_CONTRACT|clang\s+fp|float_control)|__attribute__\s*\(\(\s*(optimize|target)|\[\[gnu::(optimize|target))");
  CHECK(std::regex_search(std::string("#pragma GCC optimize(\"fast-math\")"), override_));
  CHECK(std::regex_search(std::string("__attribute__((optimize(\"O3\")))"), override_));
  CHECK_FALSE(std::regex_search(std::string("#pragma GCC ivdep"), override_));
  for (const char* folder : {"core", "kernels", "autograd", "model", "data", "rl", "audit", "cli"}) {
    const fs::path root = fs::path(MINIRL_SOURCE_DIR) / folder;
    if (!fs::exists(root)) { continue; }
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) { continue; }
      std::ifstream file(entry.path());
      std::string line;
      for (int number = 1; std::getline(file, line); ++number) {
        if (line.find("#") == std::string::npos && line.find("__attribute__") == std::string::npos && line.find("[[gnu") == std::string::npos) { continue; }
        CAPTURE(entry.path().string());
        CAPTURE(number);
        CHECK_FALSE(std::regex_search(line, override_));
      }
    }
  }
}

TEST_CASE("contracts/flags: the check can fail") {
  for (const char* flag : {"-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-ffp-contract=fast", "-ffp-contract=on", "-mrecip=all"}) { CHECK_MESSAGE(is_forbidden(flag), flag); }
  for (const char* flag : {"-fno-fast-math", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-O3"}) { CHECK_MESSAGE(!is_forbidden(flag), flag); }
  CHECK(chooses_instructions("-march=native"));
  CHECK(chooses_instructions("-mavx512f"));
}

TEST_CASE("contracts/flags: arithmetic is IEEE in every thread: nearest even, subnormals kept, signed zeros, no contraction") {
  std::atomic<int> wrong{0};
  minirl::parallel_items(4, 64, [&](minirl::Index, minirl::Index) {
    volatile float tiny = 0x1p-149F, one = 1.0F, half_ulp = 0x1p-24F, zero = 0.0F;
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    wrong += bits(tiny * one) != 1U;                          // subnormal operands and results are kept
    wrong += bits(0x1p-126F * one * 0.5F) != 0x00400000U;
    wrong += bits(one + half_ulp) != bits(1.0F);              // a tie goes to even ...
    wrong += bits(one + 0x1.8p-23F) != bits(0x1.000004p0F);   // ... also upwards
    wrong += bits(zero * -one) != 0x80000000U;
    volatile float a = 1.0F + 0x1p-12F, b = -(1.0F + 0x1p-11F);
    wrong += a * a + b != 0.0F;                               // fused, it would be 2^-24
    volatile double c = 1.0 + 0x1p-27, d = -(1.0 + 0x1p-26);
    wrong += c * c + d != 0.0;
  });
  CHECK(wrong == 0);
}
