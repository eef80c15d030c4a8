#include "rl/metric_aliases.h"

namespace minirl::rl {

const std::vector<MetricAlias>& alias_table(const std::string& style) {
  static const std::vector<MetricAlias> none;
  static const std::vector<MetricAlias> verl = {
      {"actor/pg_loss", {"train/loss", "-train/kl_loss", "-train/entropy_loss"}},
      {"actor/ppo_kl", {"policy/kl_k1"}},
      {"actor/pg_clipfrac", {"policy/masked_fraction"}},
      {"actor/entropy", {"policy/entropy"}},
      {"actor/grad_norm", {"train/grad_norm"}},
      {"actor/lr", {"train/lr"}},
      {"critic/score/mean", {"reward/mean"}},
      {"critic/rewards/mean", {"reward/mean", "-reward/kl_penalty_mean"}},
      {"response_length/mean", {"rollout/length_mean"}},
      {"response_length/max", {"rollout/length_max"}},
      {"timing_s/step", {"perf/step_s"}},
  };
  static const std::vector<MetricAlias> trl = {
      {"loss", {"train/loss"}},
      {"grad_norm", {"train/grad_norm"}},
      {"learning_rate", {"train/lr"}},
      {"reward", {"reward/mean"}},
      {"reward_std", {"reward/group_std_mean"}},
      {"frac_reward_zero_std", {"rollout/zero_variance_frac"}},
      {"kl", {"policy/reference_kl_k3"}},
      {"entropy", {"policy/entropy"}},
      {"completions/mean_length", {"rollout/length_mean"}},
      {"completions/max_length", {"rollout/length_max"}},
      {"completions/clipped_ratio", {"rollout/truncated_frac"}},
      {"clip_ratio/region_mean", {"policy/masked_fraction"}},
      {"clip_ratio/low_mean", {"policy/clipped_low_fraction"}},
      {"clip_ratio/high_mean", {"policy/clipped_high_fraction"}},
      {"sampling/sampling_logp_difference/mean", {"first_update/rollout_replay_logp_absdiff_mean"}},
      {"sampling/sampling_logp_difference/max", {"first_update/rollout_replay_logp_absdiff_max"}},
      {"step_time", {"perf/step_s"}},
  };
  return style == "verl" ? verl : style == "trl" ? trl : none;
}

std::vector<Metric> metric_aliases(const std::string& style, const std::vector<Metric>& metrics) {
  const auto find = [&](const std::string& key) -> const Metric* {
    for (const Metric& m : metrics) {
      if (m.key == key) {
        return &m;
      }
    }
    return nullptr;
  };
  std::vector<Metric> out;
  for (const MetricAlias& alias : alias_table(style)) {
    const Metric* first = find(alias.terms.front());
    if (first == nullptr) {
      continue;
    }
    Metric m{alias.name, first->value, first->unit, "the same as"};
    for (std::size_t i = 0; i < alias.terms.size(); ++i) {
      const bool minus = alias.terms[i].front() == '-';
      const std::string key = alias.terms[i].substr(minus ? 1 : 0);
      m.definition += fmt::format(" {}{}", minus ? "- " : "", key);
      if (const Metric* other = find(key); i > 0 && other != nullptr) {
        m.value += minus ? -other->value : other->value;
      }
    }
    out.push_back(std::move(m));
  }
  return out;
}

}  // namespace minirl::rl
