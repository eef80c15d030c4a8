#include "rl/verifier/words.h"

#include <string>
#include <vector>

#include "rl/verifier/word_list.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::array<std::string_view, 20> kUnits{
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> kTens{"",      "",      "twenty",  "thirty", "forty",
                                                 "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::array<std::string_view, 11> kParts{
    "", "", "half", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"};
constexpr std::array<std::string_view, 33> kDenials{
    "more",    "less",          "fewer",   "greater", "not",       "no",     "never",
    "except",  "wrong",         "neither", "nor",     "than",      "least",  "most",
    "about",   "approximately", "around",  "isn't",   "incorrect", "cannot", "false",
    "roughly", "nearly",        "almost",  "between", "maybe",     "over",   "mod",
    "under",   "perhaps",       "above",   "below",   "approx"};
/// Parts of words of languages that write without spaces.
constexpr std::array<std::string_view, 12> kForeignDenials{
    "\xe4\xb8\x8d",              // not
    "\xe9\x9d\x9e",              // non-
    "\xe7\xba\xa6",              // about
    "\xe8\x87\xb3\xe5\xb0\x91",  // at least
    "\xe8\x87\xb3\xe5\xa4\x9a",  // at most
    "\xe6\x9c\x80\xe5\xb0\x91",
    "\xe6\x9c\x80\xe5\xa4\x9a",
    "\xe4\xbb\xa5\xe4\xb8\x8a",
    "\xe4\xbb\xa5\xe4\xb8\x8b",  // or more, or less
    "\xe8\xb6\x85\xe8\xbf\x87",
    "\xe6\x88\x96",   // over; or
    "\xe9\x94\x99"};  // wrong

std::vector<std::string> split(std::string_view words) {
  std::vector<std::string> out(1);
  for (const char c : words) {
    if (c == ' ' || c == '-') {
      if (!out.back().empty()) {
        out.emplace_back();
      }
    } else if (c != '(' && c != ')') {
      out.back() += c;
    }
  }
  if (out.back().empty()) {
    out.pop_back();
  }
  return out;
}

template <std::size_t N>
int place(std::string_view word, const std::array<std::string_view, N>& list) {
  if (word.empty()) {
    return -1;
  }
  const auto it = std::find(list.begin(), list.end(), word);
  return it == list.end() ? -1 : static_cast<int>(it - list.begin());
}

}  // namespace

std::optional<Rational> number_of_words(std::string_view words) {
  if (words.size() > 60) {
    return std::nullopt;
  }
  const std::vector<std::string> list = split(words);
  Rational total = 0;
  Rational part = 0;
  int last = 4;  // kind of the word before: 1 units, 2 tens, 3 hundred, 4 nothing or a thousand
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string_view word = list[i];
    if (word == "and" && last == 3) {
      continue;
    }
    const int unit = place(word, kUnits);
    const int ten = place(word, kTens);
    if (unit >= 0) {
      if (last == 1 || (last == 2 && (unit == 0 || unit > 9))) {
        return std::nullopt;
      }
      part += unit;
      last = 1;
    } else if (ten > 0) {
      if (last == 1 || last == 2) {
        return std::nullopt;
      }
      part += 10 * ten;
      last = 2;
    } else if (word == "hundred" && last == 1 && part > 0 && part < 10) {
      part *= 100;
      last = 3;
    } else if (const int scale = scale_of_word(word); scale >= 1000 && last != 4) {
      total += part * scale;
      part = 0;
      last = 4;
    } else {
      if (word == "quarter" || word == "quarters") {
        word = "fourth";
      }
      if (word == "halves") {
        word = "half";
      }
      if (word.ends_with("s")) {
        word.remove_suffix(1);
      }
      const int below = place(word, kParts);
      if (below >= 2 && last == 1 && i + 1 == list.size() && i == 1) {
        return part / below;  // three quarters
      }
      return std::nullopt;
    }
  }
  return list.empty() ? std::nullopt : std::optional<Rational>(total + part);
}

int scale_of_word(std::string_view word) {
  return word == "hundred"    ? 100
         : word == "thousand" ? 1000
         : word == "million"  ? 1000000
         : word == "billion"  ? 1000000000
         : word == "dozen"    ? 12
                              : 0;
}

bool says_all_reals(std::string_view words) {
  for (const std::string_view lead : {"the ", "set ", "of "}) {
    if (words.starts_with(lead)) {
      words.remove_prefix(lead.size());
    }
  }
  static constexpr std::array<std::string_view, 9> kSayings{
      "all real numbers", "all reals",       "all real",
      "real numbers",     "all real values", "all real values of",
      "all real number",  "any real number", "\xe5\x85\xa8\xe4\xbd\x93\xe5\xae\x9e\xe6\x95\xb0"};
  return any_of(words, kSayings);
}

bool says_none(std::string_view words) {
  static constexpr std::array<std::string_view, 6> kSayings{"none",
                                                            "empty set",
                                                            "the empty set",
                                                            "empty",
                                                            "\xe6\x97\xa0\xe8\xa7\xa3",
                                                            "\xe7\xa9\xba\xe9\x9b\x86"};
  if (any_of(words, kSayings)) {
    return true;
  }
  const std::vector<std::string> list = split(words);
  if (list.size() < 2 || list.size() > 8) {
    return false;
  }
  std::size_t at = list[0] == "there" && (list[1] == "is" || list[1] == "are") ? 2 : 0;
  if (at >= list.size() || list[at] != "no") {
    return false;
  }
  static constexpr std::array<std::string_view, 16> kMay{
      "real",   "solution", "solutions", "root",  "roots",  "value", "values",   "such",
      "number", "numbers",  "integer",   "exist", "exists", "x",     "positive", "possible"};
  for (++at; at < list.size(); ++at) {
    if (!any_of(list[at], kMay)) {
      return false;
    }
  }
  return list.size() > 1;
}

bool denies(std::string_view words) {
  for (std::size_t at = 0; at < words.size();) {
    std::size_t end = words.find(' ', at);
    if (end == std::string_view::npos) {
      end = words.size();
    }
    std::string_view word = words.substr(at, end - at);
    while (!word.empty() && (word.front() == '(' || word.front() == ',')) {
      word.remove_prefix(1);
    }
    while (!word.empty() && (word.back() == ')' || word.back() == ',')) {
      word.remove_suffix(1);
    }
    if (any_of(word, kDenials)) {
      return true;
    }
    at = end + 1;
  }
  for (const std::string_view part : kForeignDenials) {
    if (words.find(part) != std::string_view::npos) {
      return true;
    }
  }
  return words.find("n't") != std::string_view::npos;
}

}  // namespace minirl::rl::verifier
