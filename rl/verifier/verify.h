// minirl rl/verifier/verify.h -- the whole verdict with its reasons: extraction, parsing, equality.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace minirl::rl::verifier {

/// Where the answer of a completion is looked for.
enum class Extraction {
  boxed,        // the last \boxed{} or \fbox{}
  answer_line,  // the last "Answer: ..." line, else the last box
  hashes,       // the last "#### ..." line
  last_number,  // the last number; without any format, to compare with
};

enum class Outcome { right, wrong, undecided, no_answer, bad_gold };

struct Verdict {
  Outcome outcome = Outcome::no_answer;
  std::string extracted;  // the answer as found
  std::string gold_tree;  // how both were read
  std::string answer_tree;
  std::string why;        // the rule that decided
  std::int64_t work = 0;  // units spent (budget.h)
};

/// Never throws on account of its inputs; bounded work.
Verdict verify(std::string_view gold, std::string_view completion, Extraction extraction);

/// Two bare answers.
Verdict compare(std::string_view gold, std::string_view answer);

/// "" if the gold answer can be compared with, else what is wrong with it.
std::string gold_fault(std::string_view gold);

std::string_view name(Outcome outcome);

}  // namespace minirl::rl::verifier
