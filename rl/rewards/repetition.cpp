// minirl rl/rewards/repetition.cpp -- minus the share of repeated word triples, in [-1, 0]:
// -(1 - distinct / all). The weight in reward.extra is the largest penalty.
#include <set>
#include <vector>

#include "rl/reward.h"
#include "rl/rewards/answer.h"

namespace minirl::rl {
namespace {

constexpr std::size_t kGram = 3;  // words

/// Words are what spaces separate, in lower case.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  bool inside = false;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space && !inside) {
      out.emplace_back();
    }
    inside = !space;
    if (inside) {
      out.back() += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  return out;
}

RewardResult score(std::string_view, std::string_view completion) {
  RewardResult out;
  out.answered = true;
  const std::vector<std::string> words = words_of(without_end_tokens(completion));
  if (words.size() < kGram) {
    out.why = "shorter than three words";
    return out;
  }
  // Places in an ordered set, compared by the words there: no copies of the text.
  const auto before = [&](std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < kGram; ++i) {
      if (const int order = words[a + i].compare(words[b + i]); order != 0) {
        return order < 0;
      }
    }
    return false;
  };
  std::set<std::size_t, decltype(before)> distinct(before);
  const std::size_t all = words.size() - kGram + 1;
  for (std::size_t i = 0; i < all; ++i) {
    distinct.insert(i);
  }
  out.score = -(1 - static_cast<double>(distinct.size()) / static_cast<double>(all));
  out.why = fmt::format("{} of {} word triples are distinct", distinct.size(), all);
  return out;
}

const bool registered =
    Rewards::add("repetition", {.name = "repetition",
                                .summary = "minus the share of word triples that repeat an earlier "
                                           "one",
                                .instruction = "",
                                .score = score,
                                .check_gold = [](std::string_view) { return std::string(); },
                                .of_form = true,
                                .is_penalty = true});

}  // namespace
}  // namespace minirl::rl
