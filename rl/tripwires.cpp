#include "rl/tripwires.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace minirl::rl {
namespace {

constexpr std::array<std::string_view, 7> kNames{
    "first-update ratio", "group advantages", "masked gradient", "loss shares",
    "stop token",         "finite",           "token trail"};

[[noreturn]] void trip(std::string_view name, const std::string& message,
                       std::string_view what_to_do) {
  fail(Exit::invariant, fmt::format("tripwire {}: {}; nothing was updated", name, message),
       fmt::format("{}; docs/audit.md, section \"{}\", says more", what_to_do, name));
}

std::string place(const TrainItem& item, std::size_t token) {
  return fmt::format("token {} of a completion of example {}", token, item.group->example.id);
}

// Do the advantages of a group add up to 0 whatever the rewards are?
bool centred(const AdvantageOptions& o) {
  switch (o.estimator) {
    case AdvantageEstimator::group_mean:
    case AdvantageEstimator::maxrl:
    case AdvantageEstimator::gpg:
      return true;
    case AdvantageEstimator::leave_one_out:  // unless each has a divisor of its own (adv.4')
      return !(o.normalize_by_std && o.std_kind == StdKind::leave_one_out);
    case AdvantageEstimator::opo:
    case AdvantageEstimator::pass_at_k:
    case AdvantageEstimator::raw:
    case AdvantageEstimator::reinforce_pp:
    case AdvantageEstimator::reinforce_pp_baseline:
      return false;
  }
  return false;
}

}  // namespace

std::span<const std::string_view> tripwire_names() {
  return kNames;
}

namespace tripwire {

void finite_logp(std::span<const float> logp, std::string_view what) {
  for (std::size_t t = 0; t < logp.size(); ++t) {
    if (!std::isfinite(logp[t])) {
      trip("finite",
           fmt::format("{} of token {} is {}: the weights have diverged", what, t, logp[t]),
           "lower train.lr; the last checkpoint is intact and can be resumed with other settings");
    }
  }
}

void finite_loss(double loss) {
  if (!std::isfinite(loss)) {
    trip("finite", fmt::format("the loss is {}", loss),
         "lower train.lr or use a loss with a bounded weight");
  }
}

void first_update_ratio(const TrainItem& item, std::span<const float> logp) {
  MINIRL_CHECK(logp.size() == item.rollout->logp.size(), "{} of {} log-probabilities", logp.size(),
               item.rollout->logp.size());
  for (std::size_t t = 0; t < logp.size(); ++t) {
    const float mu = item.rollout->logp[t];
    if (std::bit_cast<std::uint32_t>(logp[t]) != std::bit_cast<std::uint32_t>(mu)) {
      trip("first-update ratio",
           fmt::format(
               "{} has log mu = {:.9g} from sampling and log pi = {:.9g} from training at the "
               "same weights; they must be equal to the bit",
               place(item, t), mu, logp[t]),
           "this is a bug in a kernel (docs/numerics.md), never noise");
    }
  }
}

void group_advantages(std::span<const Group> groups, const AdvantageOptions& options) {
  if (!centred(options)) {
    return;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    double sum = 0;
    double size = 0;
    double rewards = 0;
    double high_a = -HUGE_VAL;
    double low_a = HUGE_VAL;
    double high_r = -HUGE_VAL;
    double low_r = HUGE_VAL;
    for (const Rollout& r : groups[g].rollouts) {
      const double reward = r.reward - r.kl_penalty;
      sum += r.advantage;
      size += std::fabs(r.advantage);
      rewards += std::fabs(reward);
      high_a = std::max(high_a, r.advantage);
      low_a = std::min(low_a, r.advantage);
      high_r = std::max(high_r, reward);
      low_r = std::min(low_r, reward);
    }
    // All these estimators are A = f (R - baseline) within a group.
    const double slope = high_r > low_r ? (high_a - low_a) / (high_r - low_r) : 0;
    const double n = static_cast<double>(groups[g].rollouts.size());
    const double bound = high_a > low_a ? n * 0x1p-49 * (size + slope * rewards) : 0;
    if (!(std::fabs(sum) <= bound)) {
      trip("group advantages",
           fmt::format("the {} advantages of group {} (example {}, estimator {}) add up to {:.9g}, "
                       "rounding explains at most {:.3g}",
                       groups[g].rollouts.size(), g, groups[g].example.id,
                       estimator_name(options.estimator), sum, bound),
           "the baseline is not that of the group");
    }
  }
}

void stop_token(const TrainItem& item, std::span<const TokenInput> tokens,
                std::span<const Token> end_tokens) {
  const Rollout& r = *item.rollout;
  if (tokens.size() != r.ids.size()) {
    trip("stop token",
         fmt::format("{} of the {} tokens of a completion of example {} reach the loss",
                     tokens.size(), r.ids.size(), item.group->example.id),
         "prompt and completion are cut at the wrong place");
  }
  const bool ends =
      !r.ids.empty() && (end_tokens.empty() || std::find(end_tokens.begin(), end_tokens.end(),
                                                         r.ids.back()) != end_tokens.end());
  if (r.stopped && !ends) {
    trip("stop token",
         fmt::format("a completion of example {} counts as stopped, but its last token is {}",
                     item.group->example.id, r.ids.empty() ? -1 : r.ids.back()),
         "the stop token was cut off: the policy would never learn to end");
  }
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t].active == item.left_out) {
      trip("stop token",
           fmt::format("{} (of {}{}) is {} the loss, but the completion is {}", place(item, t),
                       tokens.size(), t + 1 == tokens.size() && r.stopped ? ", its stop token" : "",
                       item.left_out ? "in" : "left out of",
                       item.left_out ? "left out as a whole" : "trained"),
           "the loss mask is shifted or cut");
    }
  }
}

void masked_gradient(std::span<const TokenInput> tokens,
                     std::span<const TokenResult> results) {
  for (std::size_t t = 0; t < results.size(); ++t) {
    const TokenResult& r = results[t];
    const bool out = !tokens[t].active;
    if ((out || r.masked()) && (r.dlogp != 0 || (out && r.loss != 0))) {
      trip("masked gradient",
           fmt::format("token {} of a completion is {}, but has g = {:.9g} and a loss of {:.9g}", t,
                       out ? "left out of the loss" : "masked by the loss", r.dlogp, r.loss),
           "the loss tells other reasons than it computes with");
    }
  }
}

void masked_seeds(const TrainItem& item, std::span<const TokenInput> tokens,
                  std::span<const float> dlogp, std::span<const float> dentropy) {
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (!tokens[t].active && (dlogp[t] != 0 || (!dentropy.empty() && dentropy[t] != 0))) {
      trip("masked gradient",
           fmt::format("{} is left out of the loss, but {:.9g} would be propagated back from it",
                       place(item, t), dlogp[t]),
           "a term of the loss ignores the mask");
    }
  }
}

void LossShares::add(double share) {  // Neumaier's sum
  const double next = sum_ + share;
  correction_ +=
      std::fabs(sum_) >= std::fabs(share) ? (sum_ - next) + share : (share - next) + sum_;
  sum_ = next;
  absolute_ += std::fabs(share);
  count_ += 1;
}

void LossShares::check(double loss) const {
  const double bound = count_ * 0x1p-52 * absolute_;
  if (!(std::fabs(loss - sum()) <= bound)) {
    trip("loss shares",
         fmt::format("the loss is {:.17g}, the shares of its {:.0f} tokens add up to {:.17g}", loss,
                     count_, sum()),
         "a term is counted twice or not at all");
  }
}

void trail_loss(Index step, double rows, double logged) {
  if (std::bit_cast<std::uint64_t>(rows) != std::bit_cast<std::uint64_t>(logged)) {
    fail(
        Exit::invariant,
        fmt::format("tripwire token trail: the rows of step {} add up to {:.17g}, the loss that is "
                    "logged is {:.17g}; the trail was not written",
                    step, rows, logged),
        "the trail does not show what was trained; docs/audit.md, section \"token trail\", says "
        "more");
  }
}

}  // namespace tripwire
}  // namespace minirl::rl
