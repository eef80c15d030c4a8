// minirl rl/verifier/words.h -- what words in an answer mean: numbers, whole sets, nothing, denial.
// All take plain_words(): lower case, single spaces.
#pragma once
#include <optional>
#include <string_view>

#include "rl/verifier/rational.h"

namespace minirl::rl::verifier {

/// "six", "thirty-one", "three quarters", "(five)".
std::optional<Rational> number_of_words(std::string_view words);
/// 1000 for "thousand" and so on; 0: it is no such word.
int scale_of_word(std::string_view word);
/// "all real numbers", "the set of all reals": without anything that narrows it.
bool says_all_reals(std::string_view words);
/// "no solution", "there are no real roots", "empty set".
bool says_none(std::string_view words);
/// "not", "at least", "about": the number beside such a word is not the answer.
bool denies(std::string_view words);

}  // namespace minirl::rl::verifier
