#include "rl/kl_reward.h"

namespace minirl::rl {

void set_kl_penalties(std::span<Group> groups, std::span<const std::vector<float>> logp_reference,
                      double beta, KlEstimator estimator) {
  std::size_t at = 0;
  for (Group& g : groups) {
    for (Rollout& r : g.rollouts) {
      const std::vector<float>& reference = logp_reference[at++];
      r.kl_penalty = 0;
      for (const double x : token_rewards(r.logp, reference, 0, beta, estimator)) {
        r.kl_penalty -= x;
      }
    }
  }
}

std::vector<std::vector<double>> token_returns(std::span<const Group> groups,
                                               std::span<const std::vector<float>> logp_reference,
                                               double beta, KlEstimator estimator) {
  std::vector<std::vector<double>> out;
  for (const Group& g : groups) {
    for (const Rollout& r : g.rollouts) {
      const auto rewards =
          token_rewards(r.logp, logp_reference[out.size()], r.reward, beta, estimator);
      out.push_back(discounted_returns(rewards, 1.0));
    }
  }
  whiten_tokens(out);
  return out;
}

}  // namespace minirl::rl
