#include "rl/presets.h"

#include <algorithm>

namespace minirl::rl {
namespace {

Scalar text(const char* word) {
  return std::string(word);
}

std::vector<Preset> make_presets() {
  using enum AdvantageEstimator;
  using enum AggMode;
  std::vector<Preset> list{
      {.name = "cispo_two_sided",
       .loss = "cispo",
       .summary = "CISPO with both sides clamped around pi_old: 0.8 to 1.2",
       .params = {{"cap", {1.2}}, {"floor", {0.8}}, {"weight_anchor", {text("recomputed")}}},
       .notes =
           "the reading of several code bases; the floor lifts tokens whose probability collapsed",
       .page = "cispo.md"},
      {.name = "clip_higher",
       .loss = "ppo",
       .summary = "PPO clip with the upper bound raised: 0.2/0.28",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.28}}},
       .notes = "the DPPO paper's scaling runs use 0.27",
       .page = "ppo.md"},
      {.name = "dapo",
       .loss = "ppo",
       .summary =
           "DAPO: clip 0.2/0.28, dual clip 10, token mean, advantages divided by the group's std",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.28}}, {"dual_clip", {10.0}}},
       .advantage = group_mean,
       .normalize_adv_by_std = true,
       .aggregation = token_mean,
       .notes =
           "plus dynamic sampling and the soft rule for truncated responses; no reference penalty",
       .page = "dapo.md"},
      {.name = "dppo",
       .loss = "dppo_tv",
       .summary = "DPPO as in the paper's stability study: Binary-TV 0.15, mean-only advantages",
       .params = {},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .notes = "4 updates per rollout; no cap on the ratio",
       .page = "dppo.md"},
      {.name = "dr_grpo",
       .loss = "ppo",
       .summary = "Dr.GRPO: clip 0.2/0.2, mean-only advantages, token sums over a constant horizon",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.2}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .aggregation = seq_mean_token_sum_norm,
       .notes = "horizon = longest response",
       .page = "dr_grpo.md"},
      {.name = "drpo_paper",
       .loss = "drpo",
       .summary =
           "DRPO with the threshold 12.5 that the paper states; its boundary cannot be reached",
       .params = {{"delta", {12.5}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .aggregation = seq_mean_token_sum_norm,
       .notes = "4 updates per rollout; horizon = longest response",
       .page = "drpo.md"},
      {.name = "drpo_tv",
       .loss = "drpo",
       .summary = "DRPO with the threshold 0.2, comparable with DPPO",
       .params = {{"delta", {0.2}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .aggregation = seq_mean_token_sum_norm,
       .notes = "4 updates per rollout; horizon = longest response",
       .page = "drpo.md"},
      {.name = "e1",
       .loss = "bad_update_mask",
       .summary = "the DPPO paper's E1: mask only A < 0 with mu - pi >= 0.5",
       .params = {{"delta", {0.5}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .page = "bad_update_mask.md"},
      {.name = "grpo",
       .loss = "ppo",
       .summary =
           "GRPO: clip 0.2/0.2, advantages divided by the group's std, mean of sequence means",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.2}}},
       .advantage = group_mean,
       .normalize_adv_by_std = true,
       .aggregation = seq_mean_token_mean,
       .notes = "the paper adds a k3 penalty to a reference (factor 0.04)",
       .page = "grpo.md"},
      {.name = "mini_rl_tis",
       .loss = "mini_rl",
       .summary = "MiniRL with the weight capped at 3",
       .params = {{"cap", {3.0}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .page = "mini_rl.md"},
      {.name = "pg_tis",
       .loss = "cispo",
       .summary = "policy gradient with the ratio truncated at 3 (the DPPO paper's CISPO)",
       .params = {{"cap", {3.0}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .notes = "cap 5 in the paper's scaling runs",
       .page = "cispo.md"},
      {.name = "reinforce_pp",
       .loss = "ppo",
       .summary = "REINFORCE++: clip 0.2/0.2, returns whitened over the whole batch, token mean",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.2}}},
       .advantage = reinforce_pp,
       .normalize_adv_by_std = false,
       .aggregation = token_mean,
       .notes = "the source puts a k1 penalty to a reference into the reward",
       .page = "reinforce_pp.md"},
      {.name = "reinforce_pp_baseline",
       .loss = "ppo",
       .summary = "REINFORCE++-baseline: group mean subtracted, then whitened over the whole batch",
       .params = {{"clip_low", {0.2}}, {"clip_high", {0.2}}},
       .advantage = reinforce_pp_baseline,
       .normalize_adv_by_std = false,
       .aggregation = token_mean,
       .page = "reinforce_pp.md"},
      {.name = "relax_high",
       .loss = "relaxed_clip",
       .summary = "relaxed clip on the upper side only, alpha 0.1",
       .params = {{"relax", {text("high")}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .page = "relaxed_clip.md"},
      {.name = "relax_low",
       .loss = "relaxed_clip",
       .summary = "relaxed clip on the lower side only, alpha 0.1",
       .params = {{"relax", {text("low")}}},
       .advantage = group_mean,
       .normalize_adv_by_std = false,
       .page = "relaxed_clip.md"},
      {.name = "rloo",
       .loss = "pg_is",
       .summary = "RLOO: leave-one-out baseline, plain policy gradient",
       .params = {},
       .advantage = leave_one_out,
       .normalize_adv_by_std = false,
       .aggregation = seq_mean_token_sum,
       .notes = "the source puts a k1 penalty to a reference into the reward",
       .page = "rloo.md"},
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
