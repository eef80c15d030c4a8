#include "rl/loss_config.h"

#include "rl/advantage.h"

namespace minirl::rl {

LossOptions loss_options(const Config& config) {
  const AlgorithmConfig& a = config.algorithm;
  LossOptions o;
  o.agg_mode = agg_mode_from_name(a.loss_agg_mode);
  o.horizon = static_cast<double>(config.horizon());
  o.fully_masked = a.fully_masked == "exclude" ? FullyMasked::exclude : FullyMasked::count;
  o.correction = usual_correction(correction_from_name(a.correction));
  if (a.correction_cap > 0) { o.correction.cap = a.correction_cap; }
  if (a.correction_low > 0) { o.correction.low = a.correction_low; }
  if (a.correction_high > 0) { o.correction.high = a.correction_high; }
  o.kl.estimator = kl_estimator_from_name(a.kl_estimator);
  o.kl.coefficient = a.kl_in == "loss" ? a.kl_coef : 0;
  o.kl.importance_weighted = a.kl_importance_weighted;
  o.kl.kept_tokens_only = a.kl_kept_tokens_only;
  o.entropy_coef = a.entropy_coef;
  return o;
}

MismatchOptions mismatch_options(const Config& config) {
  const MismatchConfig& m = config.mismatch;
  return {rollout_weights_from_name(m.weights), m.logit_noise, m.staleness, m.untempered_logp, m.top_p};
}

void apply_mismatch(const MismatchOptions& mismatch, SamplerOptions& sampling) {
  sampling.logit_noise = mismatch.logit_noise;
  sampling.record_temperature = mismatch.untempered_logp ? 1.0 : 0.0;
  sampling.top_p = mismatch.top_p;  // log mu is that of the whole vocabulary
}

AdvantageOptions advantage_options(const Config& config) {
  AdvantageOptions o;
  o.estimator = estimator_from_name(config.algorithm.advantage);
  o.normalize_by_std = config.algorithm.normalize_adv_by_std;
  return o;
}

bool needs_recomputed(const Algorithm& algorithm, const Config& config) {
  return algorithm.traits().needs_recomputed || config.algorithm.correction != "none";
}

bool needs_reference(const Algorithm& algorithm, const Config& config) {
  return algorithm.traits().needs_reference || config.algorithm.kl_coef > 0;
}

std::vector<LossConflict> loss_conflicts(const Algorithm& algorithm, const Config& config) {
  const AlgorithmConfig& a = config.algorithm;
  const Traits& t = algorithm.traits();
  const std::string name = fmt::format("algorithm.name = \"{}\"", algorithm.name());
  std::vector<LossConflict> out;
  const auto require = [&](bool good, const char* key, const std::string& message, const std::string& hint) {
    if (!good) { out.push_back({key, message, hint}); }
  };
  require(t.supports_multi_update || config.train.updates_per_rollout == 1, "train.updates_per_rollout",
          fmt::format("{} allows one update per rollout, but train.updates_per_rollout = {}", name, config.train.updates_per_rollout),
          "--set train.updates_per_rollout=1");
  require(!t.requires_ema_rollout || config.rollout.ema_decay > 0, "rollout.ema_decay",
          fmt::format("{} needs rollouts of averaged weights, but rollout.ema_decay = 0", name), "--set rollout.ema_decay=0.9");
  require(!t.needs_seq_mean_token_mean || a.loss_agg_mode == "seq-mean-token-mean", "algorithm.loss_agg_mode",
          fmt::format("{} is a loss of whole sequences and is averaged as seq-mean-token-mean, not {}", name, a.loss_agg_mode),
          "--set algorithm.loss_agg_mode=seq-mean-token-mean");
  try {
    check_correction(algorithm.name(), t, loss_options(config).correction);
  } catch (const Error& e) {
    const std::string text = e.what();
    const auto cut = text.find("\n  hint: ");
    require(false, "algorithm.correction", text.substr(0, cut), cut == std::string::npos ? "see docs/algorithms" : text.substr(cut + 9));
  }
  const CorrectionKind kind = correction_from_name(a.correction);
  const bool capped = kind == CorrectionKind::tis || kind == CorrectionKind::tis_sequence || kind == CorrectionKind::mis || kind == CorrectionKind::mis_sequence;
  const bool banded = kind == CorrectionKind::icepop || kind == CorrectionKind::geometric_mask;
  require(a.correction_cap == 0 || capped, "algorithm.correction_cap", fmt::format("algorithm.correction_cap has no effect on algorithm.correction = \"{}\"", a.correction), "leave it out, or choose tis or mis");
  require((a.correction_low == 0 && a.correction_high == 0) || banded, "algorithm.correction_low",
          fmt::format("algorithm.correction_low and correction_high have no effect on algorithm.correction = \"{}\"", a.correction), "leave them out, or choose icepop or geometric-mask");
  const bool without_kl = a.kl_coef == 0 && !t.needs_reference;
  require(!without_kl || a.kl_reference.empty(), "algorithm.kl_reference", "algorithm.kl_reference is set, but algorithm.kl_coef = 0: it would be loaded for nothing",
          "set algorithm.kl_coef, or leave the reference out");
  require(a.kl_coef > 0 || (!a.kl_importance_weighted && !a.kl_kept_tokens_only), "algorithm.kl_coef",
          "a setting of the KL penalty is on, but algorithm.kl_coef = 0", "set algorithm.kl_coef, or leave kl_importance_weighted and kl_kept_tokens_only out");
  require(a.kl_in == "loss" || (!a.kl_importance_weighted && !a.kl_kept_tokens_only), "algorithm.kl_in",
          "kl_importance_weighted and kl_kept_tokens_only are about a penalty in the loss, but algorithm.kl_in = \"reward\"", "leave them out");
  require(a.kl_in == "loss" || a.kl_coef == 0 || a.kl_estimator.back() != '+', "algorithm.kl_estimator",
          fmt::format("algorithm.kl_estimator = \"{}\" differs from \"{}\" in its gradient only, and a penalty in the reward has none", a.kl_estimator,
                      a.kl_estimator.substr(0, 2)),
          fmt::format("--set algorithm.kl_estimator={}", a.kl_estimator.substr(0, 2)));
  require(!config.rollout.dynamic_sampling || config.rollout.group_size > 1, "rollout.dynamic_sampling",
          "rollout.dynamic_sampling compares the completions of a prompt, but rollout.group_size = 1", "raise rollout.group_size");
  require(a.fully_masked == "count" || a.mask_truncated, "algorithm.fully_masked",
          "algorithm.fully_masked = \"exclude\" has no effect: no sequence is ever left out", "set algorithm.mask_truncated = true, or leave it out");
  const bool copies = config.mismatch.weights != "exact" || config.mismatch.staleness > 0 || config.rollout.ema_decay > 0;
  require(!copies || config.train.weights_dtype == "f32", "train.weights_dtype",
          "rollouts of rounded, stale or averaged weights are made from fp32 weights, but train.weights_dtype = \"bf16\"", "--set train.weights_dtype=f32");
  require(!config.mismatch.untempered_logp || config.rollout.temperature != 1, "mismatch.untempered_logp",
          "mismatch.untempered_logp has no effect at rollout.temperature = 1", "choose another rollout.temperature");
  return out;
}

}  // namespace minirl::rl
