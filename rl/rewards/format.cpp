// minirl rl/rewards/format.cpp -- rewards of form: thinking tags, answer tags, a box. They read the
// completion alone and never say whether the answer is right.
#include "rl/reward.h"
#include "rl/rewards/answer.h"

namespace minirl::rl {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == kNone) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != kNone; at = text.find(part, at + part.size())) {
    ++n;
  }
  return n;
}

/// What follows the one thinking block, whose opening tag may be in the prompt; `why` says what is
/// wrong otherwise.
std::string_view after_one_block(std::string_view text, std::string_view& why) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  text = trimmed(text);
  const bool opened = text.starts_with(kOpen);
  if (count(text, kOpen) > (opened ? 1U : 0U)) {
    why = "an opening tag that is not at the beginning";
    return {};
  }
  if (count(text, kClose) != 1) {
    why = count(text, kClose) == 0 ? "the thinking never closes" : "the thinking closes twice";
    return {};
  }
  const std::string_view rest = text.substr(text.find(kClose) + kClose.size());
  if (trimmed(rest).empty()) {
    why = "nothing follows the thinking";
  }
  return trimmed(rest);
}

RewardResult verdict(std::string_view why, std::string_view good) {
  RewardResult out;
  out.score = why.empty() ? 1 : 0;
  out.answered = why.empty();
  out.why = std::string(why.empty() ? good : why);
  return out;
}

RewardResult think_format(std::string_view, std::string_view completion) {
  std::string_view why;
  after_one_block(without_end_tokens(completion), why);
  return verdict(why, "one thinking block, then an answer");
}

RewardResult answer_tags(std::string_view, std::string_view completion) {
  constexpr std::string_view kOpen = "<answer>";
  constexpr std::string_view kClose = "</answer>";
  std::string_view why;
  const std::string_view rest = after_one_block(without_end_tokens(completion), why);
  if (why.empty() &&
      (!rest.starts_with(kOpen) || !rest.ends_with(kClose) || count(rest, kOpen) != 1 ||
       count(rest, kClose) != 1 ||
       trimmed(rest.substr(kOpen.size(), rest.size() - kOpen.size() - kClose.size())).empty())) {
    why = "no single <answer>...</answer> after the thinking";
  }
  return verdict(why, "thinking, then one answer in tags");
}

RewardResult has_box(std::string_view, std::string_view completion) {
  const auto visible = after_thinking(without_end_tokens(completion));
  if (!visible) {
    return verdict("the thinking block never closes", "");
  }
  const Boxes boxes = last_boxes(*visible);
  return verdict(boxes.contents.empty() ? boxes.why : std::string_view{}, "a box that closes");
}

bool add(const char* name, const char* summary, const char* instruction, RewardFn score) {
  return Rewards::add(name, {.name = name,
                             .summary = summary,
                             .instruction = instruction,
                             .score = score,
                             .check_gold = [](std::string_view) { return std::string(); },
                             .of_form = true});
}

const bool registered =
    add("think_format",
        "1 if there is exactly one thinking block, at the beginning, and something follows; the "
        "opening tag may be in the prompt",
        "Think between <think> and </think>, then answer.", think_format) &&
    add("answer_tags", "as think_format, and what follows is one <answer>...</answer>",
        "Think between <think> and </think>, then answer between <answer> and </answer>.",
        answer_tags) &&
    add("has_box", "1 if the last \\boxed{} after the thinking closes and is not empty",
        "Put the final answer within \\boxed{}.", has_box);

}  // namespace
}  // namespace minirl::rl
