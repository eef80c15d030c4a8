// minirl rl/rewards/math.cpp -- 1 if the completion's answer is mathematically the gold answer,
// else 0. Four names for the four places where an answer is looked for (docs/rewards/math.md).
#include "rl/reward.h"
#include "rl/verifier/verify.h"

namespace minirl::rl {
namespace {

using verifier::Extraction;
using verifier::Outcome;

template <Extraction kWhere>
RewardResult score(std::string_view gold, std::string_view completion) {
  verifier::Verdict verdict = verifier::verify(gold, completion, kWhere);
  RewardResult out;
  out.score = verdict.outcome == Outcome::right ? 1 : 0;
  out.answered = verdict.outcome == Outcome::right || verdict.outcome == Outcome::wrong ||
                 verdict.outcome == Outcome::undecided;
  out.extracted = std::move(verdict.extracted);
  out.why =
      verdict.outcome == Outcome::undecided ? "undecided: " + verdict.why : std::move(verdict.why);
  return out;
}

bool add(std::string_view name, std::string summary, std::string instruction, RewardFn function) {
  return Rewards::add(name, {.name = std::string(name),
                             .summary = std::move(summary),
                             .instruction = std::move(instruction),
                             .score = function,
                             .check_gold = verifier::gold_fault});
}

const bool registered =
    add("math",
        "1 if the last \\boxed{} after the thinking has exactly the gold answer's value, 0 "
        "otherwise",
        "Put the final answer within \\boxed{}.", score<Extraction::boxed>) &&
    add("math_answer_line",
        "as math, for the last line \"Answer: ...\"; without one, the last \\boxed{}",
        "End with a line \"Answer: \" and the final answer.", score<Extraction::answer_line>) &&
    add("math_hashes", "as math, for the last line \"#### ...\"",
        "End with a line \"#### \" and the final answer.", score<Extraction::hashes>) &&
    add("math_last_number", "as math, for the last number of the text; pays without any format",
        "End with the final answer.", score<Extraction::last_number>);

}  // namespace
}  // namespace minirl::rl
