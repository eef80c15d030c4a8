// minirl rl/rewards/boxed.cpp -- 1 if the last \boxed{...} after the thinking equals the gold
// answer, else 0.
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
  std::string answer(boxes.contents.front());
  bool all_equal = true;
  for (const auto content : boxes.contents) {
    all_equal = all_equal && compare_answers(boxes.contents[0], content).equal;
  }
  if (!all_equal) {  // one joint answer
    for (std::size_t i = 1; i < boxes.contents.size(); ++i) {
      answer.append(",").append(boxes.contents[i]);
    }
  }
  out.extracted = answer;
  out.answered = !normalize_answer(answer).empty();
  const Comparison comparison = compare_answers(gold, answer);
  out.score = comparison.equal ? 1 : 0;
  out.why = comparison.why;
  return out;
}

std::string check_gold(std::string_view gold) {
  if (normalize_answer(gold).empty()) {
    return "it is empty";
  }
  if (gold.find('\0') != std::string_view::npos) {
    return "it holds a NUL byte";
  }
  int depth = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    if (gold[i] == '\\') {
      ++i;
    } else if (gold[i] == '{') {
      ++depth;
    } else if (gold[i] == '}' && --depth < 0) {
      break;
    }
  }
  if (depth != 0) {
    return "its braces do not balance";
  }
  return "";
}

const bool registered =
    Rewards::add("boxed", {
                              .name = "boxed",
                              .summary = "1 if the last \\boxed{} after the thinking equals the "
                                         "gold answer (exact numbers, else text), 0 otherwise",
                              .instruction = "Put the final answer within \\boxed{}.",
                              .score = score,
                              .check_gold = check_gold,
                          });

}  // namespace
}  // namespace minirl::rl
