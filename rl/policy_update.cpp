#include "rl/policy_update.h"

#include <bit>
#include <cmath>

namespace minirl::rl {
namespace {

void require_finite(std::span<const float> logp, const char* what) {
  for (std::size_t t = 0; t < logp.size(); ++t) {
    if (!std::isfinite(logp[t])) {
      fail(Exit::invariant, fmt::format("{} of token {} is {}: the weights have diverged", what, t, logp[t]),
           "lower train.lr; the last checkpoint is intact and can be resumed with other settings");
    }
  }
}

// Promise 1, checked at run time: the same weights give the log-probability that the sampler recorded.
void require_ratio_one(const TrainItem& item, std::span<const float> logp) {
  for (std::size_t t = 0; t < logp.size(); ++t) {
    if (std::bit_cast<std::uint32_t>(logp[t]) != std::bit_cast<std::uint32_t>(item.rollout->logp[t])) {
      fail(Exit::invariant,
           fmt::format("tripwire first-update ratio: token {} of a rollout of example {} has log mu = {:.9g} from sampling and log pi = {:.9g} from "
                       "training at the same weights; they must be equal to the bit",
                       t, item.group->example.id, item.rollout->logp[t], logp[t]),
           "see docs/numerics.md: this is a bug in a kernel, never noise");
    }
  }
}

}  // namespace

UpdateReport update_policy(Decoder& model, Optimizer& optimizer, const Algorithm& algorithm, std::span<const TrainItem> items,
                           const UpdateOptions& options, const Exec& exec, PolicyMetrics& metrics) {
  std::vector<ScoredSequence> sequences;
  Totals totals;
  for (const TrainItem& item : items) {
    sequences.push_back({item.group->prompt, item.rollout->ids});
    add_sequence(totals, static_cast<Index>(item.rollout->ids.size()), options.fully_masked);
  }
  UpdateReport report;
  std::vector<TokenResult> results;
  report.micro = accumulate_gradients(model, exec, sequences, options.micro,
      [&](std::size_t s, std::span<const float> logp, std::span<const float> entropy, std::span<float> dlogp, std::span<float> /*dentropy*/) {
        const TrainItem& item = items[s];
        require_finite(logp, "log pi");
        if (options.expect_ratio_one) { require_ratio_one(item, logp); }
        SequenceView view;
        view.logp = logp;
        view.logp_rollout = item.rollout->logp;
        view.logp_recomputed = item.logp_recomputed;
        view.advantage = item.rollout->advantage;
        results.assign(logp.size(), {});
        algorithm.evaluate(view, results);
        const double weight = token_weight(options.agg_mode, totals, static_cast<Index>(logp.size()), options.horizon);
        for (std::size_t t = 0; t < results.size(); ++t) {
          report.loss += weight * results[t].loss;
          dlogp[t] = static_cast<float>(weight * results[t].dlogp);
        }
        metrics.add(view, results, entropy);
      });
  if (!std::isfinite(report.loss)) {
    model.params().zero_grads();
    fail(Exit::invariant, fmt::format("the loss is {}; the update was not made", report.loss), "lower train.lr or use a loss with a bounded weight");
  }
  report.optimizer = optimizer.step(options.learning_rate, exec);
  return report;
}

UpdateReport update_supervised(Decoder& model, Optimizer& optimizer, std::span<const ScoredSequence> sequences, const MicroBatchOptions& micro,
                               double learning_rate, const Exec& exec) {
  double tokens = 0;
  for (const ScoredSequence& s : sequences) { tokens += static_cast<double>(s.completion.size()); }
  UpdateReport report;
  report.micro = accumulate_gradients(model, exec, sequences, micro,
      [&](std::size_t, std::span<const float> logp, std::span<const float>, std::span<float> dlogp, std::span<float>) {
        require_finite(logp, "log pi");
        for (std::size_t t = 0; t < logp.size(); ++t) {
          report.loss -= static_cast<double>(logp[t]) / tokens;  // (sft.1)
          dlogp[t] = static_cast<float>(-1.0 / tokens);
        }
      });
  report.optimizer = optimizer.step(learning_rate, exec);
  return report;
}

}  // namespace minirl::rl
