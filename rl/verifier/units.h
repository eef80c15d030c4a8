// minirl rl/verifier/units.h -- units of measurement and currency.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "rl/verifier/rational.h"

namespace minirl::rl::verifier {

struct Unit {
  std::string dimension;  // "length", "money:dollar", ...
  Rational factor = 1;    // in the dimension's base unit
};
/// A single known unit word or symbol ("cm", "hours", "$"); letter case matters for symbols only.
std::optional<Unit> find_unit(std::string_view word);
/// Products, quotients and powers of units in one spelling ("km/h", "cm^2", "square meters");
/// nullopt: not all of its words are units.
std::optional<Unit> parse_unit(std::string_view text);

}  // namespace minirl::rl::verifier
