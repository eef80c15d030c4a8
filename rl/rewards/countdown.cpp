// minirl rl/rewards/countdown.cpp -- 1 if the last \boxed{...} after the thinking is an expression
// that reaches the target with the given numbers, else 0. The gold answer is "64 from 3 5 8".
#include "data/countdown.h"

#include "rl/reward.h"
#include "rl/rewards/answer.h"

namespace minirl::rl {
namespace {

RewardResult score(std::string_view gold, std::string_view completion) {
  RewardResult out;
  const auto visible = after_thinking(completion);
  if (!visible) {
    out.why = "the thinking block never closes";
    return out;
  }
  const Boxes boxes = last_boxes(*visible);
  if (boxes.contents.empty()) {
    out.why = boxes.why;
    return out;
  }
  out.answered = true;
  out.extracted = std::string(boxes.contents.back());
  if (boxes.contents.size() > 1) {
    out.why = "several boxes are joined to one answer";
    return out;
  }
  const auto verdict = data::check_countdown(data::parse_countdown_answer(gold), out.extracted);
  out.score = verdict.right ? 1 : 0;
  out.why = verdict.right ? "it reaches the target" : verdict.reason;
  return out;
}

std::string check_gold(std::string_view gold) {
  try {
    (void)data::parse_countdown_answer(gold);
  } catch (const Error&) {
    return "it is not of the form \"64 from 3 5 8\"";
  }
  return "";
}

const bool registered = Rewards::add(
    "countdown", {
                     .name = "countdown",
                     .summary = "1 if the last \\boxed{} holds an expression of the given numbers "
                                "that equals the target exactly, 0 otherwise",
                     .instruction = "Put the final expression within \\boxed{}.",
                     .score = score,
                     .check_gold = check_gold,
                 });

}  // namespace
}  // namespace minirl::rl
