// minirl rl/parameters.h -- what a loss (or any named choice) lets the user set: one declaration
// per parameter, from which the strict config checks, prints and explains it.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace minirl::rl {

using ParamValue = std::variant<double, std::int64_t, bool, std::string>;
using ParamMap = std::map<std::string, ParamValue>;

enum class ParamType { number, integer, boolean, choice };

/// Allowed interval of a number. An end is part of it unless it is open.
struct Range {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  bool lower_open = false;
  bool upper_open = false;

  bool contains(double x) const {  // false for NaN
    return (lower_open ? x > lower : x >= lower) && (upper_open ? x < upper : x <= upper);
  }
  std::string text() const;  // "(0, 1]"
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr Range kPositive{0, kInfinity, true, true};        // (0, inf)
inline constexpr Range kPositiveOrOff{0, kInfinity, true, false};  // (0, inf]: inf switches it off
inline constexpr Range kNonNegative{0, kInfinity, false, true};    // [0, inf)
inline constexpr Range kFraction{0, 1, false, false};              // [0, 1]

struct ParamSpec {
  std::string name;
  ParamType type = ParamType::number;
  std::optional<ParamValue> fallback;  // the default; empty = the user must set it
  Range range;                         // numbers and integers
  std::vector<std::string> choices;    // choice
  std::string unit;                    // "probability", "ratio", "nats", "1", ...
  std::string doc;  // what it does, and for a mandatory one which values are usual
};

ParamSpec number_param(std::string name, std::optional<double> fallback, Range range,
                       std::string unit, std::string doc);
ParamSpec integer_param(std::string name, std::optional<std::int64_t> fallback, Range range,
                        std::string unit, std::string doc);
ParamSpec boolean_param(std::string name, std::optional<bool> fallback, std::string doc);
ParamSpec choice_param(std::string name, std::optional<std::string> fallback,
                       std::vector<std::string> choices, std::string doc);

/// "0.2", "inf", "true", "rollout": as it would stand in the config, without quotes.
std::string to_text(const ParamValue& value);

/// A complete, checked set of values: every declared parameter has one.
class Params {
 public:
  double number(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  const std::string& choice(std::string_view name) const;
  const ParamMap& values() const { return values_; }

 private:
  friend Params resolve_params(std::string_view, const std::vector<ParamSpec>&, const ParamMap&);
  const ParamValue& find(std::string_view name) const;
  ParamMap values_;
};

/// Checks `given` against the declarations and fills in the defaults. `owner` names the loss in
/// messages. Fails with Exit::usage on an unknown name ("did you mean"), a missing mandatory value,
/// a wrong type (an integer is accepted where a number is asked for) or a value out of range.
Params resolve_params(std::string_view owner, const std::vector<ParamSpec>& specs,
                      const ParamMap& given);

}  // namespace minirl::rl
