// minirl core/config.h -- strict configuration: TOML documents onto plain structs.
// One line of code binds one key: its name, where its value goes, what it accepts, what it means.
// Precedence: default in the struct < documents in their order < `--set table.key=value`; all go
// through the same checks. Every problem is found before any is reported, each with its place and a
// hint.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/param.h"

namespace minirl {

/// One parsed document: a flat list of dotted keys.
class ConfigSource {
 public:
  /// Throws Exit::usage when the file cannot be read or is not TOML ("file:line: ...").
  static ConfigSource file(const std::string& path);
  /// `name` is what errors call the document.
  static ConfigSource text(std::string name, std::string_view toml);
  /// One `table.key=value`. The value is TOML; for keys that take text, quotes may be left out.
  static ConfigSource set(std::string_view assignment);

  struct Item {
    std::string key;                      // dotted: "train.lr"
    std::string origin;                   // "qwen3.toml:12"
    std::optional<Scalar> scalar;         // none: not a scalar, `type` says what it is
    std::string type;                     // "an array", "a date", ... for messages
    std::optional<std::string> raw = {};  // --set only: the text after '='
    bool is_table = false;
  };
  const std::string& name() const { return name_; }
  const std::string& content() const { return content_; }
  bool is_set() const { return name_ == "--set"; }
  const std::vector<Item>& items() const { return items_; }

 private:
  std::string name_, content_;
  std::vector<Item> items_;
};

/// One key after resolution.
struct ResolvedKey {
  std::string key;   // dotted
  std::string toml;  // the value as TOML
  std::string origin;
  std::string doc;
  std::string accepts;          // "a whole number at least 1"
  bool changes_results = true;  // false: threads, folders, ...; may differ on resume
};

/// The tables and keys of one configuration, bound to the fields of a struct that outlives it.
class Schema {
 public:
  Schema();
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  /// Starts a table; the fields that follow belong to it.
  void table(std::string name, std::string doc);

  class Field;  // returned for the rare options below
  Field& field(std::string key, bool* value, std::string doc);
  Field& field(std::string key, int* value, Range range, std::string doc);
  Field& field(std::string key, Index* value, Range range, std::string doc);
  Field& field(std::string key, double* value, Range range, std::string doc);
  Field& field(std::string key, std::string* value, std::string doc);
  Field& field(std::string key, std::string* value, std::vector<std::string> choices,
               std::string doc);
  /// An enumeration, written as one of `names`.
  template <class E>
  Field& field(std::string key, E* value, std::vector<std::pair<std::string, E>> names,
               std::string doc) {
    std::vector<std::string> choices;
    for (const auto& [name, v] : names) {
      choices.push_back(name);
    }
    return choice(
        std::move(key), std::move(choices), std::move(doc),
        [value, names](std::string_view text) {
          for (const auto& [name, v] : names) {
            if (name == text) {
              *value = v;
            }
          }
        },
        [value, names] {
          for (const auto& [name, v] : names) {
            if (v == *value) {
              return name;
            }
          }
          return std::string();
        });
  }
  /// A key that names a registered thing whose own parameters are the other keys of this table.
  /// `specs_of(name)` throws Error for an unknown name.
  using SpecsOf = std::function<std::vector<ParamSpec>(const std::string& name)>;
  Field& entry(std::string key, std::string* name, ParamMap* params, SpecsOf specs_of,
               std::string doc);

  /// What to say when somebody writes a key that does not exist here: a key that was removed or
  /// renamed, or the name that other tools give to it.
  void instead(std::string dotted_key, std::string message);

  /// Applies the sources in order, then checks that nothing mandatory is missing. Throws one
  /// Exit::usage error that lists every problem. Call once.
  void resolve(std::span<const ConfigSource> sources);

  /// All keys with their values, in the order of the schema.
  std::vector<ResolvedKey> keys() const;
  /// Names and meanings of the tables.
  std::vector<std::pair<std::string, std::string>> tables() const;

 private:
  Field& choice(std::string key, std::vector<std::string> choices, std::string doc,
                std::function<void(std::string_view)> assign, std::function<std::string()> read);
  Field& add(std::string key, ScalarType type, std::string doc,
             std::function<void(const Scalar&)> assign, std::function<Scalar()> read);
  struct Table;
  struct Problems;
  void apply_level(std::span<const ConfigSource> sources, Problems& problems);
  void apply(const ConfigSource::Item& item, Problems& problems);
  void apply_params(Table& table, Problems& problems);
  void unknown_key(const ConfigSource::Item& item, Problems& problems) const;
  void unknown_table(const ConfigSource::Item& item, Problems& problems) const;
  void unknown_param(const Table& table, const ConfigSource::Item& item, Problems& problems) const;
  std::vector<std::unique_ptr<Table>> tables_;
  std::map<std::string, std::string, std::less<>> instead_;
};

/// Options of one field.
class Schema::Field {
 public:
  /// The value changes no number of a run (threads, folders, ...): it may differ on resume.
  Field& no_effect_on_results() {
    changes_results_ = false;
    return *this;
  }
  /// The key must be written; `hint` says which value to take.
  Field& mandatory(std::string hint) {
    mandatory_ = true;
    hint_ = std::move(hint);
    return *this;
  }

 private:
  friend class Schema;
  std::string key_, doc_, origin_ = "default", hint_;
  ScalarType type_ = ScalarType::text;
  Range range_;
  std::vector<std::string> choices_;
  bool changes_results_ = true, mandatory_ = false;
  std::function<void(const Scalar&)> assign_;
  std::function<Scalar()> read_;
  SpecsOf specs_of_;  // entry fields only
};

/// The keys as a TOML document that resolves to the same configuration; each line says where its
/// value came from. `title` becomes the first comment.
std::string resolved_toml(const std::vector<ResolvedKey>& keys, std::string_view title);
/// SHA-256 of the dotted keys and values (not of origins), in 64 hexadecimal digits.
std::string config_hash(const std::vector<ResolvedKey>& keys);
/// The same over the keys that change results only.
std::string results_hash(const std::vector<ResolvedKey>& keys);
}  // namespace minirl
