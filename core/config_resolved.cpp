// minirl core/config_resolved.cpp -- the resolved configuration as a document and as a hash.
#include "core/config.h"
#include "core/hash.h"

namespace minirl {
namespace {

std::string hash_of(const std::vector<ResolvedKey>& keys, bool results_only) {
  std::string text;
  for (const auto& k : keys) {
    if (k.changes_results || !results_only) {
      text += k.key + " = " + k.toml + "\n";
    }
  }
  return sha256_hex(text);
}

}  // namespace

std::string resolved_toml(const std::vector<ResolvedKey>& keys, std::string_view title) {
  std::string out = fmt::format("# {}\n", title);
  std::string table;
  for (const auto& k : keys) {
    const auto dot = k.key.rfind('.');
    const std::string name = k.key.substr(0, dot);
    const std::string key = k.key.substr(dot + 1);
    if (name != table) {
      table = name;
      out += fmt::format("\n[{}]\n", table);
    }
    std::string origin =
        k.origin;  // a comment ends at a line end, and may hold no control characters
    for (char& c : origin) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        c = ' ';
      }
    }
    out += fmt::format("{:<44} # {}\n", fmt::format("{} = {}", key, k.toml), origin);
  }
  return out;
}

std::string config_hash(const std::vector<ResolvedKey>& keys) {
  return hash_of(keys, false);
}
std::string results_hash(const std::vector<ResolvedKey>& keys) {
  return hash_of(keys, true);
}

}  // namespace minirl
