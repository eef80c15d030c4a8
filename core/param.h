// minirl core/param.h -- named scalars and what they accept: the keys of a configuration and the
// parameters that algorithms, tasks and rewards declare for themselves.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.h"

namespace minirl {

/// A scalar of a document. TOML integers are 64 bits wide, TOML floats are doubles.
using Scalar = std::variant<bool, std::int64_t, double, std::string>;
enum class ScalarType : unsigned char { boolean, integer, real, text };  // in the order of Scalar

/// A value and where it was written: "default", "qwen3.toml:12" or "--set train.lr=1e-3".
struct ParamValue {
  Scalar value;
  std::string origin = "default";
};
using ParamMap = std::map<std::string, ParamValue, std::less<>>;

/// Reads a value that a schema or `bind_params` has already checked.
double real_param(const ParamMap& params, std::string_view name);
std::int64_t integer_param(const ParamMap& params, std::string_view name);
bool boolean_param(const ParamMap& params, std::string_view name);
const std::string& text_param(const ParamMap& params, std::string_view name);

/// The numbers that a key accepts. NaN never is; infinity only where `infinity` says so.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false, max_open = false;  // open: the limit itself is refused
  bool infinity = false;                    // "inf" means: no limit
  std::string word = {};                    // a text accepted instead of a number, e.g. "off"
  double word_value = 0;                    // what that text stands for
  /// "at least 1", "above 0 and at most 1", "from 0 to 1", ...
  std::string str() const;
  bool contains(double v) const;
};
Range at_least(double min);
Range above(double min);
Range between(double min, double max);
/// 0 < v <= max
Range above_to(double min, double max);
/// min <= v < max
Range from_below(double min, double max);
/// `range`, or the text `word`, which stands for `value`.
Range or_word(Range range, std::string word, double value);
Range or_infinity(Range range);

/// A key that a registered thing (an algorithm, a task, ...) declares for itself.
struct ParamSpec {
  std::string name = {};
  ScalarType type = ScalarType::real;
  std::string doc = {};                   // meaning and unit
  std::optional<Scalar> fallback = {};    // none: the key is mandatory
  Range range = {};                       // numbers only
  std::vector<std::string> choices = {};  // texts only; empty: any text
  std::string hint = {};  // shown when a mandatory key is missing: which value to take
};

/// What to write when the mandatory `spec` is missing.
std::string missing_hint(const ParamSpec& spec);

/// Fills `params` with defaults and checks them; for things built without a document (tests,
/// tools).
void bind_params(std::string_view owner, const std::vector<ParamSpec>& specs, ParamMap& params);

/// The rules of one key.
struct ParamRules {
  ScalarType type;
  const Range& range;
  const std::vector<std::string>& choices;
};
/// "a whole number at least 1", "one of \"a\", \"b\"", ...
std::string accepts(const ParamRules& rules);
/// `value` as the rules want it (a whole number becomes a real where one is asked for), or nothing
/// and in `why` "must be ..., not ...".
std::optional<Scalar> checked(const ParamRules& rules, const Scalar& value, std::string& why);
/// The word that stands for a number (Range::word) if `value` is that number, else `value`.
Scalar with_word(const Range& range, Scalar value);

/// A scalar as TOML; a real always has a '.', an exponent, inf or nan, and reads back to the same
/// bits.
std::string to_toml(const Scalar& value);

}  // namespace minirl
