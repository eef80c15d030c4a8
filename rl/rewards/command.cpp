// minirl rl/rewards/command.cpp -- the name of rewards that another program gives
// (rl/reward_command.h).
#include "rl/reward.h"

namespace minirl::rl {
namespace {

RewardResult score(std::string_view, std::string_view) {
  fail(Exit::usage, "the reward 'command' is another program and needs reward.command",
       "minirl reward test FILE --command \"python3 judge.py\"");
}

const bool registered =
    Rewards::add("command", {.name = "command",
                             .summary = "what the program reward.command answers on JSON lines",
                             .instruction = "",
                             .score = score,
                             .check_gold = [](std::string_view) { return std::string(); }});

}  // namespace
}  // namespace minirl::rl
