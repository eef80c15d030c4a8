#include "rl/policy_update.h"

#include <algorithm>

#include "core/ulp.h"
#include "rl/tripwires.h"

namespace minirl::rl {
namespace {

std::uint32_t largest_ulp(std::span<const float> a, std::span<const float> b) {
  std::uint32_t largest = 0;
  for (std::size_t t = 0; t < a.size(); ++t) { largest = std::max(largest, ulp_distance(a[t], b[t])); }
  return largest;
}

}  // namespace

// (T) is the sampled token among the K recorded ids?
std::vector<std::uint8_t> topk_has_sampled(const Rollout& rollout, Index topk) {
  std::vector<std::uint8_t> out;
  if (topk == 0) { return out; }
  const auto K = static_cast<std::size_t>(topk);
  MINIRL_CHECK(rollout.topk_ids.size() == rollout.ids.size() * K, "{} recorded ids for {} tokens and K = {}", rollout.topk_ids.size(), rollout.ids.size(), K);
  for (std::size_t t = 0; t < rollout.ids.size(); ++t) {
    const auto ids = std::span(rollout.topk_ids).subspan(t * K, K);
    out.push_back(std::find(ids.begin(), ids.end(), rollout.ids[t]) != ids.end() ? 1 : 0);
  }
  return out;
}

SequenceView frozen_view(const TrainItem& item) {
  SequenceView view;
  view.logp_rollout = item.rollout->logp;
  view.logp_recomputed = item.logp_recomputed;
  view.logp_reference = item.logp_reference;
  view.advantage = item.rollout->advantage;
  view.token_advantages = item.token_advantages;
  view.topk_logp_rollout = item.rollout->topk_logp;
  view.topk_logp_recomputed = item.topk_logp_recomputed;
  return view;
}

double add_sequence_loss(const Algorithm& algorithm, const LossOptions& loss, std::span<const TokenInput> tokens, std::span<const double> entropy,
                         double weight, bool left_out, std::vector<TokenResult>& results, UpdateReport& report) {
  const std::size_t length = tokens.size();
  results.assign(length, {});
  algorithm.evaluate_tokens(tokens, results);
  if (loss.correction.kind != CorrectionKind::none) { apply_correction(correction_weights(loss.correction, tokens), results); }
  tripwire::masked_gradient(tokens, results);
  if (loss.kl.coefficient != 0) {
    std::vector<double> before;
    for (const TokenResult& r : results) { before.push_back(r.loss); }
    add_kl_penalty(loss.kl, tokens, results);
    for (std::size_t t = 0; t < length; ++t) { report.kl_loss += weight * (results[t].loss - before[t]); }
  }
  const bool bonus_counts = loss.entropy_coef != 0 && !left_out;
  if (bonus_counts) {
    for (std::size_t t = 0; t < length; ++t) {
      const double bonus = loss.entropy_coef * entropy[t];  // (ent.1)
      results[t].loss -= bonus;
      report.entropy_loss -= weight * bonus;
    }
  }
  for (const TokenResult& r : results) { report.loss += weight * r.loss; }
  return bonus_counts ? -weight * loss.entropy_coef : 0;
}

namespace {

UpdateReport accumulate(Decoder& model, const Algorithm& algorithm, std::span<const TrainItem> items, const UpdateOptions& options,
                        const Exec& exec, const SequenceWitness& witness) {
  const LossOptions& loss = options.loss;
  check_correction(algorithm.name(), algorithm.traits(), loss.correction);
  std::vector<ScoredSequence> sequences;
  Totals totals;
  for (const TrainItem& item : items) {
    sequences.push_back({item.group->prompt, item.rollout->ids, item.rollout->topk_ids});
    add_sequence(totals, item.left_out ? 0 : static_cast<Index>(item.rollout->ids.size()), loss.fully_masked);
  }
  MicroBatchOptions micro = options.micro;
  micro.topk = algorithm.traits().topk;
  micro.entropy = micro.entropy || loss.entropy_coef != 0;
  UpdateReport report;
  tripwire::LossShares shares;
  std::vector<TokenResult> results;
  report.micro = accumulate_gradients(model, exec, sequences, micro, [&](std::size_t s, const SequenceScores& scores, const SequenceSeeds& seeds) {
    const TrainItem& item = items[s];
    const auto length = scores.logp.size();
    tripwire::finite_logp(scores.logp, "log pi");
    if (options.expect_ratio_one) { tripwire::first_update_ratio(item, scores.logp); }
    if (!item.left_out) { report.logp_ulp_max = std::max(report.logp_ulp_max, largest_ulp(scores.logp, item.rollout->logp)); }
    std::vector<std::uint8_t> loss_mask;
    if (item.left_out) { loss_mask.assign(length, 0); }
    SequenceView view = frozen_view(item);
    view.logp = scores.logp;
    view.loss_mask = loss_mask;
    view.topk = micro.topk;
    view.topk_logp = scores.topk_logp;
    const std::vector<std::uint8_t> has_sampled = topk_has_sampled(*item.rollout, micro.topk);
    view.topk_has_sampled = has_sampled;
    const std::vector<TokenInput> tokens = make_tokens(view, algorithm.traits());
    tripwire::stop_token(item, tokens, options.end_tokens);
    const double weight = item.left_out ? 0 : token_weight(loss.agg_mode, totals, static_cast<Index>(length), loss.horizon);
    const std::vector<double> entropy(scores.entropy.begin(), scores.entropy.end());
    const double dentropy = add_sequence_loss(algorithm, loss, tokens, entropy, weight, item.left_out, results, report);
    for (std::size_t t = 0; t < length; ++t) {
      shares.add(weight * results[t].loss);
      seeds.dlogp[t] = static_cast<float>(weight * results[t].dlogp);
      if (dentropy != 0) { seeds.dentropy[t] = static_cast<float>(dentropy); }
    }
    tripwire::masked_seeds(item, tokens, seeds.dlogp, seeds.dentropy);
    if (witness) { witness({s, tokens, results, scores.entropy, weight}); }
  });
  tripwire::finite_loss(report.loss);
  shares.check(report.loss);
  return report;
}

}  // namespace

UpdateReport accumulate_policy_gradient(Decoder& model, const Algorithm& algorithm, std::span<const TrainItem> items, const UpdateOptions& options,
                                        const Exec& exec, const SequenceWitness& witness) {
  try {
    return accumulate(model, algorithm, items, options, exec, witness);
  } catch (const Error&) {
    model.params().zero_grads();
    throw;
  }
}

UpdateReport update_policy(Decoder& model, Optimizer& optimizer, const Algorithm& algorithm, std::span<const TrainItem> items,
                           const UpdateOptions& options, const Exec& exec, PolicyMetrics& metrics, const SequenceWitness& witness) {
  UpdateReport report = accumulate_policy_gradient(model, algorithm, items, options, exec, [&](const SequenceOutcome& o) {
    metrics.add(o.tokens, o.results, o.entropy);
    if (witness) { witness(o); }
  });
  report.optimizer = optimizer.step(options.learning_rate, exec, options.gradients);
  return report;
}

UpdateReport update_supervised(Decoder& model, Optimizer& optimizer, std::span<const ScoredSequence> sequences, const MicroBatchOptions& micro,
                               double learning_rate, const Exec& exec, const GradientWitness& gradients) {
  double tokens = 0;
  for (const ScoredSequence& s : sequences) { tokens += static_cast<double>(s.completion.size()); }
  UpdateReport report;
  report.micro = accumulate_gradients(model, exec, sequences, micro,
      [&](std::size_t, const SequenceScores& scores, const SequenceSeeds& seeds) {
        tripwire::finite_logp(scores.logp, "log pi");
        for (std::size_t t = 0; t < scores.logp.size(); ++t) {
          report.loss -= static_cast<double>(scores.logp[t]) / tokens;  // (sft.1)
          seeds.dlogp[t] = static_cast<float>(-1.0 / tokens);
        }
      });
  report.optimizer = optimizer.step(learning_rate, exec, gradients);
  return report;
}

}  // namespace minirl::rl
