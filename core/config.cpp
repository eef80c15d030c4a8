#include "core/config.h"

#include <set>

#include "core/registry.h"

namespace minirl {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& n : names) {
    out += (out.empty() ? "" : ", ") + n;
  }
  return out;
}

std::pair<std::string, std::string> split(const std::string& dotted) {
  const auto dot = dotted.rfind('.');
  if (dot == std::string::npos) {
    return {"", dotted};
  }
  return {dotted.substr(0, dot), dotted.substr(dot + 1)};
}

// The value of `item` as the rules want it, or nothing and why not.
std::optional<Scalar> convert(const ParamRules& rules, const ConfigSource::Item& item,
                              std::string& why) {
  const bool quoted = item.scalar && std::holds_alternative<std::string>(*item.scalar);
  // --set run.name=2024 or --set algorithm.name=drpo: quotes may be left out.
  const bool bare = item.raw && ((!item.scalar && item.type.empty()) ||
                                 (!quoted && rules.type == ScalarType::text));
  if (!bare && !item.scalar) {
    why = fmt::format("must be {}, not {}", accepts(rules), item.type);
    return std::nullopt;
  }
  return checked(rules, bare ? Scalar(*item.raw) : *item.scalar, why);
}

const ParamSpec* find_spec(const std::vector<ParamSpec>& specs, std::string_view name) {
  for (const auto& s : specs) {
    if (s.name == name) {
      return &s;
    }
  }
  return nullptr;
}

}  // namespace

struct Schema::Table {
  std::string name, doc;
  std::vector<std::unique_ptr<Field>> fields;
  // With an entry field: the registered thing's own parameters.
  Field* entry = nullptr;
  ParamMap* params = nullptr;
  std::vector<ParamSpec> specs;
  std::map<std::string, ConfigSource::Item> written;  // parameter -> where it was last written

  Field* find(std::string_view key) const {
    for (const auto& f : fields) {
      if (f->key_ == key) {
        return f.get();
      }
    }
    return nullptr;
  }
  std::vector<std::string> key_names() const {
    std::vector<std::string> out;
    for (const auto& f : fields) {
      out.push_back(f->key_);
    }
    for (const auto& s : specs) {
      out.push_back(s.name);
    }
    return out;
  }
  std::string entry_name() const { return std::get<std::string>(entry->read_()); }
};

struct Schema::Problems {
  std::vector<std::string> list;
  std::set<std::string> unknown_tables;  // one message each is enough, whatever they hold
  void add(const std::string& message, const std::string& hint = {}) {
    list.push_back(hint.empty() ? message : message + "\n  hint: " + hint);
  }
  void report() const {
    if (list.empty()) {
      return;
    }
    std::string all = list.size() == 1
                          ? list.front()
                          : fmt::format("{} problems in the configuration", list.size());
    if (list.size() > 1) {
      for (const auto& p : list) {
        all += "\n" + p;
      }
    }
    fail(Exit::usage, all);
  }
};

Schema::Schema() = default;
Schema::~Schema() = default;

void Schema::table(std::string name, std::string doc) {
  tables_.push_back(std::make_unique<Table>());
  tables_.back()->name = std::move(name);
  tables_.back()->doc = std::move(doc);
}

Schema::Field& Schema::add(std::string key, ScalarType type, std::string doc,
                           std::function<void(const Scalar&)> assign,
                           std::function<Scalar()> read) {
  MINIRL_CHECK(!tables_.empty(), "field '{}' before the first table", key);
  MINIRL_CHECK(tables_.back()->find(key) == nullptr, "key '{}' is bound twice", key);
  auto f = std::make_unique<Field>();
  f->key_ = std::move(key);
  f->type_ = type;
  f->doc_ = std::move(doc);
  f->assign_ = std::move(assign);
  f->read_ = std::move(read);
  tables_.back()->fields.push_back(std::move(f));
  return *tables_.back()->fields.back();
}

Schema::Field& Schema::field(std::string key, bool* value, std::string doc) {
  return add(
      std::move(key), ScalarType::boolean, std::move(doc),
      [value](const Scalar& s) { *value = std::get<bool>(s); }, [value] { return Scalar(*value); });
}

Schema::Field& Schema::field(std::string key, int* value, Range range, std::string doc) {
  range.min = std::max(range.min, static_cast<double>(std::numeric_limits<int>::min()));
  range.max = std::min(range.max, static_cast<double>(std::numeric_limits<int>::max()));
  Field& f = add(
      std::move(key), ScalarType::integer, std::move(doc),
      [value](const Scalar& s) { *value = static_cast<int>(std::get<std::int64_t>(s)); },
      [value] { return Scalar(static_cast<std::int64_t>(*value)); });
  f.range_ = std::move(range);
  return f;
}

Schema::Field& Schema::field(std::string key, Index* value, Range range, std::string doc) {
  Field& f = add(
      std::move(key), ScalarType::integer, std::move(doc),
      [value](const Scalar& s) { *value = std::get<std::int64_t>(s); },
      [value] { return Scalar(*value); });
  f.range_ = std::move(range);
  return f;
}

Schema::Field& Schema::field(std::string key, double* value, Range range, std::string doc) {
  Field& f = add(
      std::move(key), ScalarType::real, std::move(doc),
      [value](const Scalar& s) { *value = std::get<double>(s); },
      [value] { return Scalar(*value); });
  f.range_ = std::move(range);
  return f;
}

Schema::Field& Schema::field(std::string key, std::string* value, std::string doc) {
  return add(
      std::move(key), ScalarType::text, std::move(doc),
      [value](const Scalar& s) { *value = std::get<std::string>(s); },
      [value] { return Scalar(*value); });
}

Schema::Field& Schema::field(std::string key, std::string* value, std::vector<std::string> choices,
                             std::string doc) {
  Field& f = field(std::move(key), value, std::move(doc));
  f.choices_ = std::move(choices);
  return f;
}

Schema::Field& Schema::choice(std::string key, std::vector<std::string> choices, std::string doc,
                              std::function<void(std::string_view)> assign,
                              std::function<std::string()> read) {
  Field& f = add(
      std::move(key), ScalarType::text, std::move(doc),
      [assign = std::move(assign)](const Scalar& s) { assign(std::get<std::string>(s)); },
      [read = std::move(read)] { return Scalar(read()); });
  f.choices_ = std::move(choices);
  return f;
}

Schema::Field& Schema::entry(std::string key, std::string* name, ParamMap* params, SpecsOf specs_of,
                             std::string doc) {
  Field& f = field(std::move(key), name, std::move(doc));
  f.specs_of_ = std::move(specs_of);
  tables_.back()->entry = &f;
  tables_.back()->params = params;
  return f;
}

void Schema::instead(std::string dotted_key, std::string message) {
  instead_[std::move(dotted_key)] = std::move(message);
}

void Schema::unknown_key(const ConfigSource::Item& item, Problems& problems) const {
  const auto [table_name, key] = split(item.key);
  const std::string what = fmt::format("{}: unknown key '{}'", item.origin, item.key);
  if (const auto it = instead_.find(item.key); it != instead_.end()) {
    return problems.add(what, it->second);
  }
  const Table* own = nullptr;
  std::string elsewhere;  // the same key in another table
  std::vector<std::string> tables;
  for (const auto& t : tables_) {
    if (t->name == item.key) {
      return problems.add(fmt::format("{}: '{}' is a table, not a key", item.origin, item.key),
                          fmt::format("write [{}] and its keys below it", item.key));
    }
    if (t->name == table_name) {
      own = t.get();
    }
    if (t->name != table_name && t->find(key) != nullptr) {
      elsewhere = t->name + "." + key;
    }
    tables.push_back("[" + t->name + "]");
  }
  const std::string near = own == nullptr ? "" : nearest_name(key, own->key_names());
  std::string hint;
  if (!near.empty()) {
    hint = fmt::format("did you mean '{}.{}'? ", own->name, near);
  } else if (!elsewhere.empty()) {
    hint = fmt::format("did you mean '{}'? ", elsewhere);
  }
  hint += own != nullptr ? fmt::format("keys of [{}]: {}", own->name, joined(own->key_names()))
                         : "keys belong to a table: " + joined(tables);
  problems.add(what, hint);
}

void Schema::unknown_table(const ConfigSource::Item& item, Problems& problems) const {
  problems.unknown_tables.insert(item.key);
  std::vector<std::string> names;
  for (const auto& t : tables_) {
    names.push_back(t->name);
  }
  const std::string near = nearest_name(item.key, names);
  problems.add(
      fmt::format("{}: unknown table [{}]", item.origin, item.key),
      (near.empty() ? "" : fmt::format("did you mean [{}]? ", near)) + "tables: " + joined(names));
}

void Schema::apply(const ConfigSource::Item& item, Problems& problems) {
  const auto [table_name, key] = split(item.key);
  for (const auto& unknown : problems.unknown_tables) {
    if (item.key.compare(0, unknown.size() + 1, unknown + ".") == 0) {
      return;
    }
  }
  for (const auto& t : tables_) {
    if (item.is_table && t->name == item.key) {
      return;
    }
    if (t->name != table_name) {
      continue;
    }
    if (Field* f = t->find(key); f != nullptr) {
      std::string why;
      const auto value = convert({f->type_, f->range_, f->choices_}, item, why);
      if (!value) {
        return problems.add(fmt::format("{}: '{}' {}", item.origin, item.key, why), f->doc_);
      }
      f->assign_(*value);
      f->origin_ = item.origin;
      return;
    }
    if (t->entry != nullptr && !item.is_table) {
      t->written[key] = item;  // checked by apply_params, once the entry's name is known
      return;
    }
  }
  if (item.is_table) {
    return unknown_table(item, problems);
  }
  unknown_key(item, problems);
}

// Checks the parameters written so far against what the table's entry declares.
void Schema::apply_params(Table& t, Problems& problems) {
  const std::string name = t.entry_name();
  try {
    t.specs = t.entry->specs_of_(name);
  } catch (const Error& error) {
    problems.add(
        fmt::format("{}: '{}.{}': {}", t.entry->origin_, t.name, t.entry->key_, error.what()));
    t.written.clear();
    t.specs.clear();
    return;
  }
  for (auto it = t.written.begin(); it != t.written.end();) {
    const auto& [key, item] = *it;
    const ParamSpec* spec = find_spec(t.specs, key);
    std::string why;
    if (spec == nullptr) {
      unknown_param(t, item, problems);
    } else if (const auto value = convert({spec->type, spec->range, spec->choices}, item, why)) {
      (*t.params)[key] = ParamValue{*value, item.origin};
      ++it;
      continue;
    } else {
      problems.add(fmt::format("{}: '{}' {}", item.origin, item.key, why), spec->doc);
    }
    it = t.written.erase(it);
  }
}

void Schema::unknown_param(const Table& t, const ConfigSource::Item& item,
                           Problems& problems) const {
  if (instead_.count(item.key) != 0) {
    return unknown_key(item, problems);
  }
  const std::string near = nearest_name(split(item.key).second, t.key_names());
  std::vector<std::string> own;
  for (const auto& s : t.specs) {
    own.push_back(s.name);
  }
  std::string hint = near.empty() ? "" : fmt::format("did you mean '{}.{}'? ", t.name, near);
  hint += own.empty() ? fmt::format("'{}' takes no parameters of its own", t.entry_name())
                      : fmt::format("parameters of '{}': {}", t.entry_name(), joined(own));
  problems.add(fmt::format("{}: unknown key '{}': {} '{}' has no such parameter", item.origin,
                           item.key, t.name, t.entry_name()),
               hint);
}

// One document, or all --set arguments together: so the order of these does not matter where they
// name different keys, and a name may come after its parameters.
void Schema::apply_level(std::span<const ConfigSource> sources, Problems& problems) {
  const auto is_entry_name = [this](const ConfigSource::Item& item) {
    for (const auto& t : tables_) {
      if (t->entry != nullptr && item.key == t->name + "." + t->entry->key_) {
        return true;
      }
    }
    return false;
  };
  std::map<const Table*, std::string> before;
  for (const auto& t : tables_) {
    if (t->entry != nullptr) {
      before[t.get()] = t->entry_name();
    }
  }
  for (const auto& source : sources) {
    for (const auto& item : source.items()) {
      if (is_entry_name(item)) {
        apply(item, problems);
      }
    }
  }
  for (const auto& [t, name] : before) {
    if (t->entry_name() == name) {
      continue;
    }
    // Another algorithm or task was chosen: what was written for the former one does not carry
    // over.
    const_cast<Table*>(t)->written.clear();
    t->params->clear();
  }
  for (const auto& source : sources) {
    for (const auto& item : source.items()) {
      if (!is_entry_name(item)) {
        apply(item, problems);
      }
    }
  }
  for (const auto& t : tables_) {
    if (t->entry != nullptr) {
      apply_params(*t, problems);
    }
  }
}

void Schema::resolve(std::span<const ConfigSource> sources) {
  Problems problems;
  if (sources.empty()) {
    apply_level(sources, problems);
  }
  for (std::size_t begin = 0; begin < sources.size();) {
    std::size_t end = begin + 1;
    while (sources[begin].is_set() && end < sources.size() && sources[end].is_set()) {
      ++end;
    }
    apply_level(sources.subspan(begin, end - begin), problems);
    begin = end;
  }
  const bool complete = problems.list.empty();  // else "missing" may be the echo of another problem
  for (const auto& t : tables_) {
    for (const auto& f : t->fields) {
      if (complete && f->mandatory_ && f->origin_ == "default") {
        problems.add(fmt::format("'{}.{}' is missing", t->name, f->key_),
                     fmt::format("{}; {}", f->doc_, f->hint_));
      }
    }
    for (const auto& spec : t->specs) {
      if (t->params->count(spec.name) != 0) {
        continue;
      }
      if (spec.fallback) {
        (*t->params)[spec.name] = ParamValue{*spec.fallback};
      } else if (complete) {
        problems.add(fmt::format("{}: '{}.{}' is missing: {} '{}' needs it", t->entry->origin_,
                                 t->name, spec.name, t->name, t->entry_name()),
                     missing_hint(spec));
      }
    }
  }
  problems.report();
}

std::vector<ResolvedKey> Schema::keys() const {
  std::vector<ResolvedKey> out;
  for (const auto& t : tables_) {
    for (const auto& f : t->fields) {
      out.push_back({t->name + "." + f->key_, to_toml(with_word(f->range_, f->read_())), f->origin_,
                     f->doc_, accepts({f->type_, f->range_, f->choices_}), f->changes_results_});
    }
    for (const auto& spec : t->specs) {
      const auto it = t->params->find(spec.name);
      if (it == t->params->end()) {
        continue;
      }
      out.push_back({t->name + "." + spec.name, to_toml(with_word(spec.range, it->second.value)),
                     it->second.origin, spec.doc, accepts({spec.type, spec.range, spec.choices}),
                     true});
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> Schema::tables() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& t : tables_) {
    out.emplace_back(t->name, t->doc);
  }
  return out;
}

}  // namespace minirl
