#include "core/param.h"

#include <cmath>

#include "core/registry.h"

namespace minirl {
namespace {

std::string number(double v) {
  return v == std::floor(v) && std::abs(v) < 1e15 ? fmt::format("{:.0f}", v) : fmt::format("{}", v);
}

const ParamSpec* find_spec(const std::vector<ParamSpec>& specs, std::string_view name) {
  for (const auto& s : specs) {
    if (s.name == name) {
      return &s;
    }
  }
  return nullptr;
}

template <class T>
const T& param(const ParamMap& params, std::string_view name) {
  const auto it = params.find(name);
  MINIRL_CHECK(it != params.end(), "parameter '{}' was not bound", name);
  const T* value = std::get_if<T>(&it->second.value);
  MINIRL_CHECK(value != nullptr, "parameter '{}' has another type", name);
  return *value;
}

}  // namespace

double real_param(const ParamMap& p, std::string_view name) {
  return param<double>(p, name);
}
std::int64_t integer_param(const ParamMap& p, std::string_view name) {
  return param<std::int64_t>(p, name);
}
bool boolean_param(const ParamMap& p, std::string_view name) {
  return param<bool>(p, name);
}
const std::string& text_param(const ParamMap& p, std::string_view name) {
  return param<std::string>(p, name);
}

bool Range::contains(double v) const {
  if (std::isnan(v)) {
    return false;
  }
  if (std::isinf(v)) {
    return infinity && v > 0;
  }
  return (min_open ? v > min : v >= min) && (max_open ? v < max : v <= max);
}

std::string Range::str() const {
  const bool low = std::isfinite(min);
  const bool high = std::isfinite(max);
  if (low && high && !min_open && !max_open) {
    return fmt::format("from {} to {}", number(min), number(max));
  }
  std::string out;
  if (low) {
    out = fmt::format("{} {}", min_open ? "above" : "at least", number(min));
  }
  if (high) {
    out += fmt::format("{}{} {}", low ? " and " : "", max_open ? "below" : "at most", number(max));
  }
  return out;
}

Range at_least(double min) {
  return Range{.min = min};
}
Range above(double min) {
  return Range{.min = min, .min_open = true};
}
Range between(double min, double max) {
  return Range{.min = min, .max = max};
}
Range above_to(double min, double max) {
  return Range{.min = min, .max = max, .min_open = true};
}
Range from_below(double min, double max) {
  return Range{.min = min, .max = max, .max_open = true};
}
Range or_word(Range range, std::string word, double value) {
  range.word = std::move(word);
  range.word_value = value;
  return range;
}
Range or_infinity(Range range) {
  range.infinity = true;
  return range;
}

std::string accepts(const ParamRules& rules) {
  if (rules.type == ScalarType::boolean) {
    return "true or false";
  }
  if (rules.type == ScalarType::text) {
    if (rules.choices.empty()) {
      return "a text";
    }
    std::string list;
    for (const auto& c : rules.choices) {
      list += (list.empty() ? "\"" : ", \"") + c + "\"";
    }
    return "one of " + list;
  }
  std::string out = rules.type == ScalarType::integer ? "a whole number" : "a number";
  if (const std::string range = rules.range.str(); !range.empty()) {
    out += " " + range;
  }
  if (rules.range.infinity) {
    out += " (or inf)";
  }
  if (!rules.range.word.empty()) {
    out += " or \"" + rules.range.word + "\"";
  }
  return out;
}

std::optional<Scalar> checked(const ParamRules& rules, const Scalar& value, std::string& why) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* whole = std::get_if<std::int64_t>(&value);
  const bool is_word = text != nullptr && !rules.range.word.empty() && *text == rules.range.word;
  why = fmt::format("must be {}, not {}{}", accepts(rules), text != nullptr ? "the text " : "",
                    to_toml(value));
  switch (rules.type) {
    case ScalarType::boolean:
      if (std::holds_alternative<bool>(value)) {
        return value;
      }
      break;
    case ScalarType::text:
      if (text == nullptr) {
        break;
      }
      if (rules.choices.empty()) {
        return value;
      }
      for (const auto& c : rules.choices) {
        if (c == *text) {
          return value;
        }
      }
      if (const std::string near = nearest_name(*text, rules.choices); !near.empty()) {
        why += fmt::format("; did you mean \"{}\"?", near);
      }
      break;
    case ScalarType::integer:
      if (is_word) {
        return Scalar(static_cast<std::int64_t>(rules.range.word_value));
      }
      if (whole != nullptr && rules.range.contains(static_cast<double>(*whole))) {
        return value;
      }
      break;
    case ScalarType::real: {
      if (is_word) {
        return Scalar(rules.range.word_value);
      }
      const auto* real = std::get_if<double>(&value);
      if (whole == nullptr && real == nullptr) {
        break;
      }
      const double v = real != nullptr ? *real : static_cast<double>(*whole);
      if (rules.range.contains(v)) {
        return Scalar(v);
      }
      break;
    }
  }
  return std::nullopt;
}

Scalar with_word(const Range& range, Scalar value) {
  if (range.word.empty()) {
    return value;
  }
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  const bool same = (whole != nullptr && static_cast<double>(*whole) == range.word_value) ||
                    (real != nullptr && *real == range.word_value);
  return same ? Scalar(range.word) : value;
}

std::string missing_hint(const ParamSpec& spec) {
  std::string out =
      fmt::format("{}: {}", spec.name, accepts({spec.type, spec.range, spec.choices}));
  if (!spec.doc.empty()) {
    out += "; " + spec.doc;
  }
  if (!spec.hint.empty()) {
    out += "; " + spec.hint;
  }
  return out;
}

void bind_params(std::string_view owner, const std::vector<ParamSpec>& specs, ParamMap& params) {
  for (auto& [name, value] : params) {
    const ParamSpec* spec = find_spec(specs, name);
    if (spec == nullptr) {
      fail(Exit::usage, fmt::format("{} has no parameter '{}'", owner, name));
    }
    std::string why;
    const auto converted = checked({spec->type, spec->range, spec->choices}, value.value, why);
    if (!converted) {
      fail(Exit::usage, fmt::format("{}: '{}' {}", owner, name, why));
    }
    value.value = *converted;
  }
  for (const auto& spec : specs) {
    if (params.find(spec.name) != params.end()) {
      continue;
    }
    if (!spec.fallback) {
      fail(Exit::usage, fmt::format("{} needs the parameter '{}'", owner, spec.name),
           missing_hint(spec));
    }
    params[spec.name] = ParamValue{*spec.fallback};
  }
}

std::string to_toml(const Scalar& value) {
  if (const auto* b = std::get_if<bool>(&value)) {
    return *b ? "true" : "false";
  }
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    return fmt::format("{}", *i);
  }
  if (const auto* d = std::get_if<double>(&value)) {
    std::string text = fmt::format("{}", *d);  // the shortest text that reads back to the same bits
    if (text.find_first_of(".en") == std::string::npos) {
      text += ".0";
    }
    return text;
  }
  std::string out = "\"";
  for (const char c : std::get<std::string>(value)) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 0x20 || u == 0x7f) {
      out += fmt::format("\\u{:04x}", u);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace minirl
