// tests/contracts/build_files.h -- looks at what the compiler made: objects, their symbols, their instructions.
#pragma once
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace minirl::test {

/// What a program prints, line by line; nothing if it is not there or fails.
inline std::optional<std::vector<std::string>> lines_of(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) { return std::nullopt; }
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) { text.append(buffer.data(), n); }
  if (::pclose(pipe) != 0) { return std::nullopt; }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

/// Objects of a target below CMakeFiles/TARGET.dir.
inline std::vector<std::filesystem::path> objects_of(const std::string& target) {
  std::vector<std::filesystem::path> out;
  const auto directory = std::filesystem::path(MINIRL_BUILD_DIR) / "CMakeFiles" / (target + ".dir");
  if (!std::filesystem::exists(directory)) { return out; }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".o") { out.push_back(entry.path()); }
  }
  return out;
}

struct Symbol {
  char type;         // as nm prints it: U undefined, T text, W weak, V weak object, u unique object, ...
  std::string name;  // mangled
};

inline std::vector<Symbol> symbols_of(const std::filesystem::path& object) {
  std::vector<Symbol> out;
  const auto lines = lines_of("nm -P '" + object.string() + "'");
  REQUIRE_MESSAGE(lines.has_value(), object.string());
  for (const std::string& line : *lines) {  // "name type ..."
    const auto space = line.find(' ');
    if (space != std::string::npos && space + 1 < line.size()) { out.push_back({line[space + 1], line.substr(0, space)}); }
  }
  return out;
}

inline bool have_tool(const char* name) { return lines_of(std::string(name) + " --version").has_value(); }

/// Instruction sets that this build has kernels for.
inline std::vector<std::string> built_isas() {
  std::vector<std::string> out;
  for (const char* isa : {"portable", "avx2", "avx512"}) {
    if (!objects_of(std::string("minirl_kernels_") + isa).empty()) { out.push_back(isa); }
  }
  return out;
}

}  // namespace minirl::test
