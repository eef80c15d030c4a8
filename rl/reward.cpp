#include "rl/reward.h"

namespace minirl::rl {

void require_gold(const RewardInfo& reward, std::string_view gold, std::string_view where) {
  const std::string fault = reward.check_gold(gold);
  if (fault.empty()) {
    return;
  }
  fail(Exit::data,
       fmt::format("{}: the gold answer \"{}\" cannot be scored by '{}': {}", where,
                   gold.substr(0, 80), reward.name, fault),
       "correct the data set, or choose another reward");
}

}  // namespace minirl::rl
