#include "rl/parameters.h"

#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/registry.h"

namespace minirl::rl {
namespace {

std::string number_text(double x) {
  return std::isinf(x) ? (x > 0 ? "inf" : "-inf") : fmt::format("{}", x);
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) {
    out += (out.empty() ? "" : ", ") + w;
  }
  return out;
}

std::string_view type_word(ParamType type) {
  switch (type) {
    case ParamType::number:
      return "a number";
    case ParamType::integer:
      return "an integer";
    case ParamType::boolean:
      return "true or false";
    case ParamType::choice:
      return "a word";
  }
  return "?";
}

[[noreturn]] void wrong_type(std::string_view owner, const ParamSpec& spec,
                             const ParamValue& given) {
  fail(
      Exit::usage,
      fmt::format("{}: parameter '{}' must be {}, not {}", owner, spec.name, type_word(spec.type),
                  std::holds_alternative<std::string>(given) ? fmt::format("\"{}\"", to_text(given))
                                                             : to_text(given)),
      spec.doc);
}

ParamValue checked(std::string_view owner, const ParamSpec& spec, ParamValue value) {
  if (spec.type == ParamType::boolean) {
    if (!std::holds_alternative<bool>(value)) {
      wrong_type(owner, spec, value);
    }
    return value;
  }
  if (spec.type == ParamType::choice) {
    const auto* word = std::get_if<std::string>(&value);
    if (word == nullptr) {
      wrong_type(owner, spec, value);
    }
    for (const auto& choice : spec.choices) {
      if (choice == *word) {
        return value;
      }
    }
    const std::string near = nearest_name(*word, spec.choices);
    fail(Exit::usage,
         fmt::format("{}: parameter '{}' = \"{}\" is none of: {}", owner, spec.name, *word,
                     join(spec.choices)),
         near.empty() ? spec.doc : fmt::format("did you mean '{}'? {}", near, spec.doc));
  }
  if (spec.type == ParamType::number && std::holds_alternative<std::int64_t>(value)) {
    value = static_cast<double>(std::get<std::int64_t>(value));
  }
  const bool right = spec.type == ParamType::number ? std::holds_alternative<double>(value)
                                                    : std::holds_alternative<std::int64_t>(value);
  if (!right) {
    wrong_type(owner, spec, value);
  }
  const double x = spec.type == ParamType::number
                       ? std::get<double>(value)
                       : static_cast<double>(std::get<std::int64_t>(value));
  if (!spec.range.contains(x)) {
    fail(Exit::usage,
         fmt::format("{}: parameter '{}' = {} is outside {}", owner, spec.name, to_text(value),
                     spec.range.text()),
         spec.doc);
  }
  return value;
}

}  // namespace

std::string Range::text() const {
  return fmt::format("{}{}, {}{}", lower_open || std::isinf(lower) ? '(' : '[', number_text(lower),
                     number_text(upper), upper_open ? ')' : ']');
}

ParamSpec number_param(std::string name, std::optional<double> fallback, Range range,
                       std::string unit, std::string doc) {
  ParamSpec spec;
  spec.name = std::move(name);
  spec.type = ParamType::number;
  if (fallback) {
    spec.fallback = *fallback;
  }
  spec.range = range;
  spec.unit = std::move(unit);
  spec.doc = std::move(doc);
  return spec;
}

ParamSpec integer_param(std::string name, std::optional<std::int64_t> fallback, Range range,
                        std::string unit, std::string doc) {
  ParamSpec spec;
  spec.name = std::move(name);
  spec.type = ParamType::integer;
  if (fallback) {
    spec.fallback = *fallback;
  }
  spec.range = range;
  spec.unit = std::move(unit);
  spec.doc = std::move(doc);
  return spec;
}

ParamSpec boolean_param(std::string name, std::optional<bool> fallback, std::string doc) {
  ParamSpec spec;
  spec.name = std::move(name);
  spec.type = ParamType::boolean;
  if (fallback) {
    spec.fallback = *fallback;
  }
  spec.doc = std::move(doc);
  return spec;
}

ParamSpec choice_param(std::string name, std::optional<std::string> fallback,
                       std::vector<std::string> choices, std::string doc) {
  ParamSpec spec;
  spec.name = std::move(name);
  spec.type = ParamType::choice;
  if (fallback) {
    spec.fallback = std::move(*fallback);
  }
  spec.choices = std::move(choices);
  spec.doc = std::move(doc);
  return spec;
}

std::string to_text(const ParamValue& value) {
  if (const auto* x = std::get_if<double>(&value)) {
    return number_text(*x);
  }
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    return fmt::format("{}", *i);
  }
  if (const auto* b = std::get_if<bool>(&value)) {
    return *b ? "true" : "false";
  }
  return std::get<std::string>(value);
}

const ParamValue& Params::find(std::string_view name) const {
  const auto it = values_.find(std::string(name));
  MINIRL_CHECK(it != values_.end(), "parameter '{}' was never declared", name);
  return it->second;
}
double Params::number(std::string_view name) const {
  return std::get<double>(find(name));
}
std::int64_t Params::integer(std::string_view name) const {
  return std::get<std::int64_t>(find(name));
}
bool Params::boolean(std::string_view name) const {
  return std::get<bool>(find(name));
}
const std::string& Params::choice(std::string_view name) const {
  return std::get<std::string>(find(name));
}

Params resolve_params(std::string_view owner, const std::vector<ParamSpec>& specs,
                      const ParamMap& given) {
  std::vector<std::string> known;
  for (const auto& spec : specs) {
    known.push_back(spec.name);
  }
  for (const auto& [name, value] : given) {
    bool found = false;
    for (const auto& k : known) {
      found = found || k == name;
    }
    if (found) {
      continue;
    }
    const std::string near = nearest_name(name, known);
    fail(Exit::usage, fmt::format("{}: unknown parameter '{}'", owner, name),
         known.empty() ? "it has no parameters"
                       : (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) +
                             "known: " + join(known));
  }
  Params out;
  for (const auto& spec : specs) {
    const auto it = given.find(spec.name);
    if (it == given.end() && !spec.fallback) {
      fail(Exit::usage,
           fmt::format("{}: parameter '{}' is missing and has no default", owner, spec.name),
           spec.doc);
    }
    out.values_[spec.name] = checked(owner, spec, it == given.end() ? *spec.fallback : it->second);
  }
  return out;
}

}  // namespace minirl::rl
