// minirl rl/rewards/answer.h -- finding the boxed answer of a completion, and exact comparison of
// two short answers. Everything is linear in the completion; numbers are exact (no floating point).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minirl::rl {

/// Longest answer that is read as a number; longer ones are compared as text.
inline constexpr std::size_t kLongestNumber = 8192;

/// The part of a completion after its last closed thinking block. A block that never closes hides
/// everything (nullopt). A closing tag before any opening one ends a block that the prompt opened;
/// one after all blocks are closed is text. Tags in any letter case.
std::optional<std::string_view> after_thinking(std::string_view completion);

/// For every '{' the place of its '}' (npos if it never closes); escaped braces do not count.
std::vector<std::size_t> match_braces(std::string_view text);

/// Without the end tokens and spaces at its end: a decoder may keep <|im_end|> and the like.
std::string_view without_end_tokens(std::string_view text);

struct Boxes {
  std::vector<std::string_view> contents;  // of the last group of boxes; empty = no answer
  std::string_view why;                    // if empty: what is missing
};
/// The last \boxed{...} or \fbox{...}. Boxes joined by "and", "or", a comma or nothing form one
/// answer; boxes with other text between them correct each other. Braces nest, \{ and \} do not
/// count.
Boxes last_boxes(std::string_view text);

/// Spelling that does not matter is taken away: spaces, $, \left, \, {,} and the like.
std::string normalize_answer(std::string_view answer);

struct Comparison {
  bool equal = false;
  std::string_view why;
};
/// Integers, decimals and fractions (also \frac, thousands separators) by exact value; all else by
/// normalised text. An answer that normalises to nothing equals nothing.
Comparison compare_answers(std::string_view gold, std::string_view answer);
/// Is it an integer, decimal or fraction in the sense of compare_answers?
bool is_number(std::string_view answer);

}  // namespace minirl::rl
