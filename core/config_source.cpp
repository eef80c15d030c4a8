// minirl core/config_source.cpp -- TOML text to a flat list of dotted keys (toml++ is seen here
// only).
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/config.h"
#include "core/files.h"

namespace minirl {
namespace {

struct Line {
  Index line;
  ConfigSource::Item item;
};

bool is_bare(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// Dotted names are read recursively by toml++, without a limit: thousands of parts would end on the
// stack. Nothing here has more than two.
void refuse_deep_keys(const std::string& name, std::string_view content) {
  constexpr Index kMostDots = 256;
  Index line = 1;
  for (std::size_t begin = 0; begin <= content.size(); ++line) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view text = content.substr(begin, end - begin);
    const std::string_view key = text.substr(0, text.find('='));
    if (std::count(key.begin(), key.end(), '.') > kMostDots &&
        key.find('"') == std::string_view::npos && key.find('#') == std::string_view::npos) {
      fail(Exit::usage, fmt::format("{}:{}: a name of more than {} parts", name, line, kMostDots),
           "tables are written [name], keys name = value");
    }
    begin = end + 1;
  }
}

// A quoted key with a dot in it must not be taken for a path of two keys.
std::string dotted(const std::string& prefix, std::string_view key) {
  const std::string own = is_bare(key) ? std::string(key) : to_toml(std::string(key));
  return prefix.empty() ? own : prefix + "." + own;
}

void read_scalar(const toml::node& node, ConfigSource::Item& item) {
  if (const auto* b = node.as_boolean()) {
    item.scalar = b->get();
  } else if (const auto* i = node.as_integer()) {
    item.scalar = i->get();
  } else if (const auto* f = node.as_floating_point()) {
    item.scalar = f->get();
  } else if (const auto* s = node.as_string()) {
    item.scalar = s->get();
  } else {
    item.type = node.is_array() ? "an array" : node.is_table() ? "a table" : "a date or time";
  }
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& source,
             std::vector<Line>& out) {
  for (const auto& [key, node] : table) {
    ConfigSource::Item item;
    item.key = dotted(prefix, key.str());
    const auto line = static_cast<Index>(key.source().begin.line);
    item.origin = fmt::format("{}:{}", source, line);
    item.is_table = node.is_table();
    read_scalar(node, item);
    out.push_back({line, item});
    if (const auto* inner = node.as_table()) {
      flatten(*inner, item.key, source, out);
    }
  }
}

std::string_view trimmed(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\t'; };
  while (!s.empty() && space(s.front())) {
    s.remove_prefix(1);
  }
  while (!s.empty() && space(s.back())) {
    s.remove_suffix(1);
  }
  return s;
}

}  // namespace

ConfigSource ConfigSource::text(std::string name, std::string_view content) {
  ConfigSource source;
  source.name_ = std::move(name);
  source.content_ = std::string(content);
  refuse_deep_keys(source.name_, content);
  std::vector<Line> lines;
  try {
    flatten(toml::parse(content, std::string_view(source.name_)), "", source.name_, lines);
  } catch (const toml::parse_error& error) {
    fail(Exit::usage,
         fmt::format("{}:{}: not valid TOML: {}", source.name_, error.source().begin.line,
                     error.description()),
         fmt::format(
             "the trouble is at column {}; strings need double quotes, tables are written [name]",
             error.source().begin.column));
  }
  // toml++ keeps keys in alphabetical order; people read messages in the order of lines.
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.line < b.line; });
  for (auto& l : lines) {
    source.items_.push_back(std::move(l.item));
  }
  return source;
}

ConfigSource ConfigSource::file(const std::string& path) {
  return text(path, read_file(path));
}

ConfigSource ConfigSource::set(std::string_view assignment) {
  const std::string origin = "--set " + std::string(assignment);
  const auto equals = assignment.find('=');
  const std::string hint = "write --set table.key=value, e.g. --set train.steps=50";
  if (equals == std::string_view::npos) {
    fail(Exit::usage, origin + ": there is no '='", hint);
  }
  const std::string_view key = trimmed(assignment.substr(0, equals));
  const std::string_view value = trimmed(assignment.substr(equals + 1));
  std::string_view rest = key;
  int parts = 0;
  while (true) {
    const auto dot = rest.find('.');
    if (!is_bare(rest.substr(0, dot))) {
      fail(Exit::usage, fmt::format("{}: '{}' is not a dotted key", origin, key), hint);
    }
    ++parts;
    if (dot == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(dot + 1);
  }
  if (parts < 2) {
    fail(Exit::usage, fmt::format("{}: '{}' does not say which table the key is in", origin, key),
         hint);
  }
  ConfigSource source;
  source.name_ = "--set";
  Item item;
  item.key = std::string(key);
  item.origin = origin;
  item.raw = std::string(value);
  try {
    const toml::table table =
        toml::parse("value = " + std::string(value), std::string_view("--set"));
    if (table.size() == 1) {
      read_scalar(*table.get("value"), item);
    }
  } catch (const toml::parse_error&) {
    // A bare word: text for the keys that take text, an error for the others (Schema decides).
  }
  source.items_.push_back(std::move(item));
  return source;
}

}  // namespace minirl
