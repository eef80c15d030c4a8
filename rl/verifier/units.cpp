#include "rl/verifier/units.h"

#include <array>
#include <map>

namespace minirl::rl::verifier {
namespace {

struct Row {
  std::string_view names, dimension;
  int above, below;
};
constexpr std::array<Row, 50> kRows{{
    {"mm millimeter millimeters millimetre millimetres", "length", 1, 1000},
    {"cm centimeter centimeters centimetre centimetres", "length", 1, 100},
    {"dm decimeter decimeters", "length", 1, 10},
    {"m meter meters metre metres", "length", 1, 1},
    {"km kilometer kilometers kilometre kilometres", "length", 1000, 1},
    {"in inch inches", "length", 254, 10000},
    {"ft foot feet", "length", 3048, 10000},
    {"yd yard yards", "length", 9144, 10000},
    {"mi mile miles", "length", 1609344, 1000},
    {"mg milligram milligrams", "mass", 1, 1000},
    {"g gram grams", "mass", 1, 1},
    {"kg kilogram kilograms", "mass", 1000, 1},
    {"t ton tons tonne tonnes", "mass:ton", 1, 1},
    {"lb lbs pound pounds", "mass:pound", 1, 1},
    {"oz ounce ounces", "mass:pound", 1, 16},
    {"ms millisecond milliseconds", "time", 1, 1000},
    {"s sec secs second seconds", "time", 1, 1},
    {"min mins minute minutes", "time", 60, 1},
    {"h hr hrs hour hours", "time", 3600, 1},
    {"day days", "time", 86400, 1},
    {"week weeks", "time", 604800, 1},
    {"month months", "time:month", 1, 1},
    {"year years yr yrs", "time:month", 12, 1},
    {"ml mL milliliter milliliters", "volume", 1, 1000},
    {"l L liter liters litre litres", "volume", 1, 1},
    {"gallon gallons gal", "volume:gallon", 1, 1},
    {"quart quarts qt", "volume:gallon", 1, 4},
    {"pint pints pt", "volume:gallon", 1, 8},
    {"cup cups", "volume:gallon", 1, 16},
    {"N newton newtons", "force", 1, 1},
    {"J joule joules", "energy", 1, 1},
    {"kJ kilojoule kilojoules", "energy", 1000, 1},
    {"W watt watts", "power", 1, 1},
    {"V volt volts", "voltage", 1, 1},
    {"Hz hertz", "frequency", 1, 1},
    {"Pa pascal pascals", "pressure", 1, 1},
    {"K kelvin", "temperature:K", 1, 1},
    {"mph", "length.time^-1", 1609344, 3600000},
    {"kph", "length.time^-1", 1000, 3600},
    {"unit units", "", 1, 1},
    {"$ dollar dollars usd USD", "money:dollar", 1, 1},
    {"cent cents \xc2\xa2", "money:dollar", 1, 100},
    {"\xe2\x82\xac euro euros EUR", "money:euro", 1, 1},
    {"\xc2\xa3 GBP", "money:pound", 1, 1},
    {"\xc2\xa5 yen", "money:yen", 1, 1},
    {"\xe2\x82\xb9 rupee rupees", "money:rupee", 1, 1},
    {"acre acres", "area:acre", 1, 1},
    {"am a.m.", "clock:am", 1, 1},
    {"pm p.m.", "clock:pm", 1, 1},
    {"km/h kmh", "length.time^-1", 1000, 3600},
}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return out;
}

bool has_word(std::string_view names, std::string_view word) {
  for (std::size_t at = names.find(word); at != std::string_view::npos;
       at = names.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' ')) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Unit> find_unit(std::string_view word) {
  if (word.empty() || word.size() > 24 || word.find(' ') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string small = lower(word);
  for (const bool any_case : {false, true}) {
    if (any_case && word.size() < 3) {
      break;
    }
    for (const Row& row : kRows) {
      if (has_word(row.names, any_case ? std::string_view(small) : word)) {
        return Unit{std::string(row.dimension), Rational(row.above) / row.below};
      }
    }
  }
  return std::nullopt;
}

std::optional<Unit> parse_unit(std::string_view text) {
  if (text.size() > 80) {
    return std::nullopt;
  }
  std::map<std::string, int> dimensions;
  Rational factor = 1;
  int sign = 1;
  int next_power = 1;
  bool any = false;
  const auto separator = [](char c) {
    return c == ' ' || c == '/' || c == '.' || c == '*' || c == '^' || (c >= '0' && c <= '9') ||
           c == '-';
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '/') {
      sign = -1;
      ++at;
      continue;
    }
    if (text[at] == ' ' || text[at] == '*' || text[at] == '.') {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !separator(text[end])) {
      ++end;
    }
    if (end == at) {
      return std::nullopt;
    }
    const std::string word(text.substr(at, end - at));
    at = end;
    if (word == "per") {
      sign = -1;
      continue;
    }
    if (word == "square" || word == "sq" || word == "cubic" || word == "cu") {
      next_power = word[0] == 's' ? 2 : 3;
      continue;
    }
    const auto unit = find_unit(word);
    if (!unit) {
      return std::nullopt;
    }
    any = true;
    int power = next_power;
    next_power = 1;
    if (at < text.size() && text[at] == '^') {
      ++at;
    }
    bool minus = false;
    if (at + 1 < text.size() && text[at] == '-') {
      minus = true;
      ++at;
    }
    if (at < text.size() && text[at] >= '1' && text[at] <= '9') {
      power = text[at++] - '0';
    }
    power *= minus ? -sign : sign;
    for (int i = 0; i < (power < 0 ? -power : power); ++i) {
      factor = power < 0 ? Rational(factor / unit->factor) : Rational(factor * unit->factor);
    }
    if (unit->dimension == "length.time^-1") {
      dimensions["length"] += power;
      dimensions["time"] -= power;
    } else if (!unit->dimension.empty()) {
      dimensions[unit->dimension] += power;
    }
  }
  if (!any) {
    return std::nullopt;
  }
  Unit out;
  out.factor = factor;
  for (const auto& [name, power] : dimensions) {
    if (power != 0) {
      out.dimension.append(name).append("^").append(std::to_string(power)).append(";");
    }
  }
  return out;
}

}  // namespace minirl::rl::verifier
