// minirl core/registry.h -- names to factories; a new entry registers itself from its own file.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace minirl {

/// Smallest number of single-character edits between a and b.
int edit_distance(std::string_view a, std::string_view b);
/// The nearest of `known` to `name` if it is near enough to be a typo, else "".
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// One table a `Tag` type. Lookups of unknown names are the user's errors and list what is known.
template <class Entry, class Tag = Entry>
class Registry {
 public:
  static bool add(std::string_view name, Entry entry) {
    MINIRL_CHECK(table().emplace(std::string(name), std::move(entry)).second, "'{}' is registered twice", name);
    return true;
  }
  static const Entry& find(std::string_view what, std::string_view name) {
    if (const auto it = table().find(name); it != table().end()) { return it->second; }
    const auto known = names();
    std::string list;
    for (const auto& k : known) { list += (list.empty() ? "" : ", ") + k; }
    const std::string near = nearest_name(name, known);
    fail(Exit::usage, fmt::format("unknown {} '{}'", what, name),
         near.empty() ? "known: " + list : fmt::format("did you mean '{}'? known: {}", near, list));
  }
  static bool contains(std::string_view name) { return table().find(name) != table().end(); }
  static std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, entry] : table()) { out.push_back(name); }
    return out;
  }

 private:
  static std::map<std::string, Entry, std::less<>>& table() {
    static std::map<std::string, Entry, std::less<>> entries;
    return entries;
  }
};

}  // namespace minirl
