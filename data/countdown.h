// minirl data/countdown.h -- the countdown game: reach a target with given numbers, each used at
// most once, and + - * / and parentheses. Here: the judge of an answer.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace minirl::data {

struct CountdownGoal {
  Index target = 0;
  std::vector<Index> numbers;
};

/// The gold answer of a countdown example, "64 from 3 5 8".
std::string countdown_answer(const CountdownGoal& goal);
/// Reads it back. Throws Exit::data when it is not in that form.
CountdownGoal parse_countdown_answer(std::string_view answer);

struct CountdownVerdict {
  bool right = false;
  std::string reason;  // why not, in words; empty when right
};

/// Judges an expression of whole numbers, + - * /, parentheses and spaces. Its value is computed
/// exactly (rational numbers); it must be the target, and every number in it must be one of the
/// given, each given number used at most once. Any text at all is judged without a crash, in time
/// linear in its length.
CountdownVerdict check_countdown(const CountdownGoal& goal, std::string_view expression);

}  // namespace minirl::data
