// minirl audit/experiment_file.cpp -- reading configs/experiments/*.toml.
#include <algorithm>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "audit/experiment.h"
#include "core/registry.h"

namespace minirl::audit {
namespace {

class Reader {
 public:
  Reader(std::string name, const toml::table& root) : name_(std::move(name)), root_(root) {}

  [[noreturn]] void bad(const toml::node& at, const std::string& what, const std::string& hint = "see docs/experiments/README.md") const {
    fail(Exit::usage, fmt::format("{}:{}: {}", name_, at.source().begin.line, what), hint);
  }
  void only(const toml::table& table, std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, node] : table) {
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end()) {
        const std::string near = nearest_name(key.str(), {keys.begin(), keys.end()});
        bad(node, fmt::format("unknown key '{}'", key.str()), near.empty() ? "see docs/experiments/README.md" : fmt::format("did you mean '{}'?", near));
      }
    }
  }
  std::string text(const toml::table& table, std::string_view key, bool needed = true) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (needed) { bad(table, fmt::format("'{}' is missing", key)); }
      return {};
    }
    if (!node->is_string()) { bad(*node, fmt::format("'{}' must be a text", key)); }
    return node->as_string()->get();
  }
  std::vector<std::string> texts(const toml::table& table, std::string_view key) const {
    std::vector<std::string> out;
    const toml::node* node = table.get(key);
    if (node == nullptr) { return out; }
    if (!node->is_array()) { bad(*node, fmt::format("'{}' must be a list of texts", key)); }
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_string()) { bad(item, fmt::format("'{}' must be a list of texts", key)); }
      out.push_back(item.as_string()->get());
    }
    return out;
  }
  std::vector<const toml::table*> tables(std::string_view key) const {
    std::vector<const toml::table*> out;
    const toml::node* node = root_.get(key);
    if (node == nullptr) { return out; }
    if (!node->is_array()) { bad(*node, fmt::format("write [[{}]]", key)); }
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_table()) { bad(item, fmt::format("write [[{}]]", key)); }
      out.push_back(item.as_table());
    }
    return out;
  }

 private:
  std::string name_;
  const toml::table& root_;
};

}  // namespace

Experiment parse_experiment(const std::string& name, std::string_view document) {
  toml::table root;
  try {
    root = toml::parse(document, std::string_view(name));
  } catch (const toml::parse_error& e) {
    fail(Exit::usage, fmt::format("{}:{}: {}", name, e.source().begin.line, e.description()));
  }
  const Reader read(name, root);
  read.only(root, {"title", "question", "setup", "base", "seeds", "set", "curves", "masked_tokens", "arm", "claim"});
  Experiment e;
  const auto slash = name.rfind('/');
  e.name = name.substr(slash == std::string::npos ? 0 : slash + 1);
  e.name = e.name.substr(0, e.name.find('.'));
  e.title = read.text(root, "title");
  e.question = read.text(root, "question");
  e.setup = read.text(root, "setup");
  e.base = read.text(root, "base");
  e.sets = read.texts(root, "set");
  e.curves = read.texts(root, "curves");
  if (const toml::node* seeds = root.get("seeds")) {
    if (!seeds->is_array()) { read.bad(*seeds, "'seeds' must be a list of whole numbers"); }
    for (const toml::node& s : *seeds->as_array()) {
      if (!s.is_integer() || s.as_integer()->get() < 0) { read.bad(s, "'seeds' must be a list of whole numbers, none below 0"); }
      if (std::find(e.seeds.begin(), e.seeds.end(), s.as_integer()->get()) != e.seeds.end()) { read.bad(s, fmt::format("seed {} is there twice: the same run again is no evidence", s.as_integer()->get())); }
      e.seeds.push_back(s.as_integer()->get());
    }
  }
  if (e.seeds.empty()) { read.bad(root, "'seeds' is missing or empty"); }
  if (const toml::node* masked = root.get("masked_tokens")) {
    if (!masked->is_boolean()) { read.bad(*masked, "'masked_tokens' must be true or false"); }
    e.masked_tokens = masked->as_boolean()->get();
  }
  for (const toml::table* t : read.tables("arm")) {
    read.only(*t, {"name", "label", "set"});
    Arm arm{read.text(*t, "name"), read.text(*t, "label"), read.texts(*t, "set")};
    if (arm.name.empty() || arm.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != std::string::npos) {
      read.bad(*t, fmt::format("'{}' cannot be the name of an arm", arm.name), "it becomes part of a folder's name: letters, digits, '_' and '-'");
    }
    for (const Arm& other : e.arms) {
      if (other.name == arm.name) { read.bad(*t, fmt::format("two arms are called '{}'", arm.name)); }
    }
    e.arms.push_back(std::move(arm));
  }
  if (e.arms.empty()) { read.bad(root, "there is no [[arm]]"); }
  const std::vector<std::string> outcomes = outcome_names();
  for (const toml::table* t : read.tables("claim")) {
    read.only(*t, {"text", "source", "metric", "better", "worse"});
    Claim claim{read.text(*t, "text"), read.text(*t, "source"), read.text(*t, "metric"), read.text(*t, "better"), read.text(*t, "worse")};
    if (std::find(outcomes.begin(), outcomes.end(), claim.metric) == outcomes.end()) { read.bad(*t, fmt::format("'{}' is not a metric of experiments", claim.metric)); }
    for (const std::string& arm : {claim.better, claim.worse}) {
      if (std::none_of(e.arms.begin(), e.arms.end(), [&](const Arm& a) { return a.name == arm; })) { read.bad(*t, fmt::format("there is no arm '{}'", arm)); }
    }
    if (claim.better == claim.worse) { read.bad(*t, fmt::format("'{}' is compared with itself", claim.better)); }
    e.claims.push_back(std::move(claim));
  }
  return e;
}

}  // namespace minirl::audit
