#include "rl/presets.h"

#include <algorithm>

namespace minirl::rl {
namespace {

std::vector<Preset> make_presets() {
  using enum AdvantageEstimator;
  std::vector<Preset> list{
      {.name = "dppo",
       .loss = "dppo_tv",
       .summary = "DPPO as in the paper's stability study: Binary-TV 0.15, mean-only advantages",
       .params = {},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .aggregation = std::nullopt,
       .notes = "4 updates per rollout; no cap on the ratio",
       .page = "dppo.md"},
      {.name = "drpo_paper",
       .loss = "drpo",
       .summary =
           "DRPO with the threshold 12.5 that the paper states; its boundary cannot be reached",
       .params = {{"delta", {12.5}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .aggregation = AggMode::seq_mean_token_sum_norm,
       .notes = "4 updates per rollout; horizon = longest response",
       .page = "drpo.md"},
      {.name = "drpo_tv",
       .loss = "drpo",
       .summary = "DRPO with the threshold 0.2, comparable with DPPO",
       .params = {{"delta", {0.2}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .aggregation = AggMode::seq_mean_token_sum_norm,
       .notes = "4 updates per rollout; horizon = longest response",
       .page = "drpo.md"},
      {.name = "grpo",
       .loss = "ppo",
       .summary =
           "GRPO: clip 0.2/0.2, advantages divided by the group's std, mean of sequence means",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.2}}},
       .advantage = group_mean,
       .normalize_adv_by_std = true,
       .aggregation = AggMode::seq_mean_token_mean,
       .notes = "the paper adds a k3 penalty to a reference (kl_coef 0.04)",
       .page = "grpo.md"},
      {.name = "clip_higher",
       .loss = "ppo",
       .summary = "PPO clip with the upper bound raised: 0.2/0.28",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.28}}},
       .advantage = std::nullopt,
       .normalize_adv_by_std = std::nullopt,
       .aggregation = std::nullopt,
       .notes = "the DPPO paper's scaling runs use 0.27",
       .page = "ppo.md"},
  };
  std::sort(list.begin(), list.end(),
            [](const Preset& a, const Preset& b) { return a.name < b.name; });
  return list;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list = make_presets();
  return list;
}

const Preset* find_preset(std::string_view name) {
  for (const auto& preset : presets()) {
    if (preset.name == name) {
      return &preset;
    }
  }
  return nullptr;
}

}  // namespace minirl::rl
