#include "rl/advantage.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/registry.h"

namespace minirl::rl {
namespace {

struct EstimatorText {
  AdvantageEstimator estimator;
  std::string_view name;
  std::string_view words;
};
constexpr std::array<EstimatorText, 9> kEstimators{{
    {AdvantageEstimator::group_mean, "group-mean", "reward minus the mean of its group"},
    {AdvantageEstimator::leave_one_out, "rloo", "reward minus the mean of the others of its group"},
    {AdvantageEstimator::opo, "opo", "reward minus the mean of its group weighted by length"},
    {AdvantageEstimator::maxrl, "maxrl", "(reward minus the mean of its group) / that mean"},
    {AdvantageEstimator::pass_at_k, "pass-at-k",
     "best of the group: its lead over the second; all others 0"},
    {AdvantageEstimator::raw, "raw", "the reward itself, no baseline"},
    {AdvantageEstimator::reinforce_pp, "reinforce-pp",
     "reward, whitened over all response tokens of the batch"},
    {AdvantageEstimator::reinforce_pp_baseline, "reinforce-pp-baseline",
     "reward minus the mean of its group, whitened over all response tokens of the batch"},
    {AdvantageEstimator::gpg, "gpg",
     "reward minus the mean of its group, times sequences / sequences with a reward other than 0"},
}};

const EstimatorText& text_of(AdvantageEstimator estimator) {
  for (const auto& e : kEstimators) {
    if (e.estimator == estimator) {
      return e;
    }
  }
  return kEstimators[0];
}

double sum(std::span<const double> x) {
  double s = 0;
  for (const double v : x) {
    s += v;
  }
  return s;
}

double square_deviations(std::span<const double> x, double mean) {
  double s = 0;
  for (const double v : x) {
    s += (v - mean) * (v - mean);
  }
  return s;
}

/// Mean and std (n - 1) of the group without entry i.
std::pair<double, double> others(std::span<const double> x, std::size_t i) {
  const auto n = static_cast<double>(x.size() - 1);
  double s = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    s += j == i ? 0 : x[j];
  }
  const double mean = s / n;
  double ss = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    ss += j == i ? 0 : (x[j] - mean) * (x[j] - mean);
  }
  return {mean, n > 1 ? std::sqrt(ss / (n - 1)) : 0};
}

/// What (adv.2) and (adv.3) divide by; 1 without the option.
double scale(std::span<const double> x, double mean, const AdvantageOptions& options) {
  if (!options.normalize_by_std) {
    return 1;
  }
  const auto n = static_cast<double>(x.size());
  const double ss = square_deviations(x, mean);
  return options.std_kind == StdKind::population ? std::sqrt(ss / n + options.epsilon)
                                                 : std::sqrt(ss / (n - 1)) + options.epsilon;
}

std::vector<double> pass_at_k(std::span<const double> x, double mean,
                              const AdvantageOptions& options) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    best = x[i] > x[best] ? i : best;
  }
  double second = -HUGE_VAL;
  for (std::size_t i = 0; i < x.size(); ++i) {
    second = i != best && x[i] > second ? x[i] : second;
  }
  std::vector<double> out(x.size(), 0.0);
  out[best] = (x[best] - second) / scale(x, mean, options);
  return out;
}

/// (x - mean) / sqrt(variance + 1e-8) over all response tokens: a completion counts by its length.
void whiten(std::vector<std::vector<double>>& values, std::span<const GroupOutcome> groups,
            double tolerance) {
  constexpr double kInsideRoot = 1e-8;
  double tokens = 0;
  double weighted = 0;
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  const auto each = [&](auto&& use) {
    for (std::size_t g = 0; g < values.size(); ++g) {
      for (std::size_t i = 0; i < values[g].size(); ++i) {
        use(values[g][i], static_cast<double>(groups[g].lengths[i]));
      }
    }
  };
  each([&](double v, double length) {
    tokens += length;
    weighted += length * v;
    low = v < low ? v : low;
    high = v > high ? v : high;
  });
  const bool flat = high - low <= tolerance || tokens < 2;
  const double mean = flat ? 0 : weighted / tokens;
  double squares = 0;
  each([&](double v, double length) { squares += length * (v - mean) * (v - mean); });
  const double scale = flat ? 1 : std::sqrt(squares / (tokens - 1) + kInsideRoot);
  each([&](double& v, double) { v = flat ? 0 : (v - mean) / scale; });
}

}  // namespace

bool needs_whole_batch(AdvantageEstimator estimator) {
  return estimator == AdvantageEstimator::reinforce_pp ||
         estimator == AdvantageEstimator::reinforce_pp_baseline ||
         estimator == AdvantageEstimator::gpg;
}

std::string_view estimator_name(AdvantageEstimator estimator) {
  return text_of(estimator).name;
}
std::string estimator_words(AdvantageEstimator estimator) {
  return std::string(text_of(estimator).words);
}

std::vector<std::string> estimator_names() {
  std::vector<std::string> out;
  for (const auto& e : kEstimators) {
    if (!needs_whole_batch(e.estimator)) {
      out.emplace_back(e.name);
    }
  }
  return out;
}

std::vector<std::string> batch_estimator_names() {
  std::vector<std::string> out;
  for (const auto& e : kEstimators) {
    out.emplace_back(e.name);
  }
  return out;
}

AdvantageEstimator estimator_from_name(std::string_view name) {
  std::string list;
  for (const auto& e : kEstimators) {
    if (e.name == name) {
      return e.estimator;
    }
    list += (list.empty() ? "" : ", ") + std::string(e.name);
  }
  const std::string near = nearest_name(name, batch_estimator_names());
  fail(Exit::usage, fmt::format("unknown advantage estimator '{}'", name),
       (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + "known: " + list);
}

std::vector<double> group_advantages(std::span<const double> rewards,
                                     const AdvantageOptions& options, AdvantageReport* report,
                                     std::span<const Index> lengths) {
  MINIRL_CHECK(!rewards.empty(), "an empty group has no advantages");
  MINIRL_CHECK(!needs_whole_batch(options.estimator), "'{}' needs the whole batch",
               estimator_name(options.estimator));
  double low = rewards[0];
  double high = rewards[0];
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    if (!std::isfinite(rewards[i])) {
      fail(Exit::data, fmt::format("the reward of completion {} of the group is {}", i, rewards[i]),
           "a reward must be a finite number");
    }
    low = rewards[i] < low ? rewards[i] : low;
    high = rewards[i] > high ? rewards[i] : high;
  }
  const std::size_t n = rewards.size();
  const double mean = sum(rewards) / static_cast<double>(n);
  AdvantageReport facts;
  facts.reward_mean = mean;
  facts.single = n == 1;
  facts.reward_std =
      n > 1 ? std::sqrt(square_deviations(rewards, mean) / static_cast<double>(n - 1)) : 0;
  facts.zero_variance = n > 1 && high - low <= options.zero_variance_tolerance;
  if (report != nullptr) {
    *report = facts;
  }

  std::vector<double> out(n, 0.0);
  if (options.estimator == AdvantageEstimator::raw) {
    out.assign(rewards.begin(), rewards.end());
    return out;
  }
  if (facts.single || facts.zero_variance) {
    return out;
  }
  switch (options.estimator) {
    case AdvantageEstimator::raw:
    case AdvantageEstimator::reinforce_pp:
    case AdvantageEstimator::reinforce_pp_baseline:
    case AdvantageEstimator::gpg:
      break;
    case AdvantageEstimator::group_mean:
      if (options.normalize_by_std && options.std_kind == StdKind::leave_one_out) {
        fail(Exit::usage, "the leave-one-out std belongs to the estimator 'rloo'",
             "choose std 'unbiased' or 'population'");
      }
      for (std::size_t i = 0; i < n; ++i) {
        out[i] = (rewards[i] - mean) / scale(rewards, mean, options);
      }
      break;
    case AdvantageEstimator::leave_one_out:
      for (std::size_t i = 0; i < n; ++i) {
        const auto [other_mean, other_std] = others(rewards, i);
        out[i] = rewards[i] - other_mean;
        if (options.normalize_by_std && options.std_kind == StdKind::leave_one_out) {
          out[i] = other_std > 0 ? out[i] / (other_std + options.epsilon) : out[i];
        } else {
          out[i] /= scale(rewards, mean, options);
        }
      }
      break;
    case AdvantageEstimator::opo: {
      MINIRL_CHECK(lengths.size() == n, "opo needs one length per reward ({} lengths, {} rewards)",
                   lengths.size(), n);
      double weighted = 0;
      double total = 0;
      for (std::size_t i = 0; i < n; ++i) {
        weighted += static_cast<double>(lengths[i]) * rewards[i];
        total += static_cast<double>(lengths[i]);
      }
      const double baseline = total > 0 ? weighted / total : mean;
      for (std::size_t i = 0; i < n; ++i) {
        out[i] = rewards[i] - baseline;
      }
      break;
    }
    case AdvantageEstimator::maxrl:
      for (std::size_t i = 0; i < n; ++i) {
        out[i] = (rewards[i] - mean) / (mean + options.epsilon);
      }
      break;
    case AdvantageEstimator::pass_at_k:
      out = pass_at_k(rewards, mean, options);
      break;
  }
  return out;
}

std::vector<std::vector<double>> batch_advantages(std::span<const GroupOutcome> groups,
                                                  const AdvantageOptions& options,
                                                  std::vector<AdvantageReport>* reports) {
  AdvantageOptions within = options;  // what happens inside of a group
  if (options.estimator == AdvantageEstimator::reinforce_pp) {
    within.estimator = AdvantageEstimator::raw;
  }
  if (options.estimator == AdvantageEstimator::reinforce_pp_baseline ||
      options.estimator == AdvantageEstimator::gpg) {
    within.estimator = AdvantageEstimator::group_mean;
    within.normalize_by_std = false;
  }
  std::vector<std::vector<double>> out;
  double completions = 0;
  double scored = 0;
  if (reports != nullptr) {
    reports->clear();
  }
  for (const GroupOutcome& group : groups) {
    MINIRL_CHECK(group.lengths.empty() || group.lengths.size() == group.rewards.size(),
                 "{} lengths, {} rewards", group.lengths.size(), group.rewards.size());
    AdvantageReport report;
    out.push_back(group_advantages(group.rewards, within, &report, group.lengths));
    if (reports != nullptr) {
      reports->push_back(report);
    }
    completions += static_cast<double>(group.rewards.size());
    for (const double r : group.rewards) {
      scored += r != 0 ? 1 : 0;
    }
  }
  if (options.estimator == AdvantageEstimator::gpg) {
    const double alpha = scored > 0 ? completions / scored : 1;
    for (auto& group : out) {
      for (double& a : group) {
        a *= alpha;
      }
    }
  } else if (needs_whole_batch(options.estimator)) {
    for (const GroupOutcome& group : groups) {
      MINIRL_CHECK(group.lengths.size() == group.rewards.size(),
                   "'{}' needs the lengths of the completions", estimator_name(options.estimator));
    }
    whiten(out, groups, options.zero_variance_tolerance);
  }
  return out;
}

}  // namespace minirl::rl
