#include "rl/reward_mix.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace minirl::rl {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::vector<WeightedReward> parse_extra_rewards(std::string_view text) {
  std::vector<WeightedReward> out;
  constexpr std::string_view kHint = "write reward.extra = \"think_format 0.2, repetition 1\"";
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t gap = part.find(' ');
    if (part.empty() || gap == std::string_view::npos) {
      fail(Exit::usage, fmt::format("reward.extra: \"{}\" is no name with a weight", part), kHint);
    }
    const RewardInfo& info = Rewards::find("reward", part.substr(0, gap));
    const std::string number(trimmed(part.substr(gap)));
    char* end = nullptr;
    const double weight = std::strtod(number.c_str(), &end);
    if (*end != '\0' || !std::isfinite(weight) || weight <= 0 || weight > 100) {
      fail(Exit::usage,
           fmt::format("reward.extra: the weight \"{}\" of {} is not a number above 0 and at most "
                       "100",
                       number, info.name),
           kHint);
    }
    if (!info.of_form) {
      fail(Exit::usage,
           fmt::format("reward.extra: {} judges the answer; only reward.name chooses such a reward",
                       info.name),
           kHint);
    }
    for (const WeightedReward& other : out) {
      if (other.reward == &info) {
        fail(Exit::usage, fmt::format("reward.extra: {} is given twice", info.name), kHint);
      }
    }
    out.push_back({&info, weight});
  }
  return out;
}

std::string extra_rewards_fault(std::string_view text, double weight) {
  try {
    double bonus = 0;
    for (const WeightedReward& extra : parse_extra_rewards(text)) {
      bonus += extra.reward->is_penalty ? 0 : extra.weight;
    }
    if (bonus >= weight) {
      return fmt::format(
          "the form of a wrong answer ({:g}) would be worth as much as a right "
          "answer (reward.weight = {:g})",
          bonus, weight);
    }
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

double extra_score(const std::vector<WeightedReward>& extra, std::string_view completion) {
  double sum = 0;
  for (const WeightedReward& e : extra) {
    sum += e.weight * e.reward->score("", completion).score;
  }
  return sum;
}

}  // namespace minirl::rl
