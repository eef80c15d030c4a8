#include "rl/advantage.h"

#include <limits>

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

constexpr double kClosedForm = 1e-14;
const std::vector<double> kGroup{1, 0, 1, 0, 0};

AdvantageOptions options(AdvantageEstimator estimator, bool by_std = false,
                         StdKind kind = StdKind::unbiased, double epsilon = 1e-6) {
  AdvantageOptions o;
  o.estimator = estimator;
  o.normalize_by_std = by_std;
  o.std_kind = kind;
  o.epsilon = epsilon;
  return o;
}

}  // namespace

TEST_CASE("rl/advantage: every estimator on the vectors") {
  using enum AdvantageEstimator;
  const std::vector<Index> lengths{10, 20, 30, 40, 100};
  const std::vector<std::pair<std::string, AdvantageOptions>> rows{
      {"GRPO unbiased eps1e-6", options(group_mean, true)},
      {"GRPO unbiased eps1e-4 (TRL)", options(group_mean, true, StdKind::unbiased, 1e-4)},
      {"UniRL population sqrt(var+1e-8)", options(group_mean, true, StdKind::population, 1e-8)},
      {"mean-only (DrGRPO/DPPO/DRPO)", options(group_mean)},
      {"RLOO", options(leave_one_out)},
      {"MaxRL", options(maxrl)},
      {"pass@k best-minus-second, verl", options(pass_at_k, true)},
      {"OPO lengths 10,20,30,40,100", options(opo)},
  };
  for (const auto& row : rows) {
    const std::string& label = row.first;
    CAPTURE(label);
    const auto got = group_advantages(kGroup, row.second, nullptr, lengths);
    const auto want = vectors().at("advantages").at(label).get<std::vector<double>>();
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(near(got[i], want[i], kClosedForm));
    }
  }
}

TEST_CASE("rl/advantage: the lead of the best over the second, and the leave-one-out std") {
  constexpr double kPrinted = 5e-6;  // the sources state six digits
  const auto lead = group_advantages(std::vector<double>{1, .25, 0},
                                     options(AdvantageEstimator::pass_at_k, true));
  CHECK(near(lead[0], 1.44115, kPrinted));
  CHECK(lead[1] == 0);
  CHECK(lead[2] == 0);
  const auto loo =
      group_advantages(std::vector<double>{1, 0, 1, 0},
                       options(AdvantageEstimator::leave_one_out, true, StdKind::leave_one_out));
  CHECK(near(loo[0], 1.1547, kPrinted));
  CHECK(near(loo[1], -1.1547, kPrinted));
  // The others of the single 1 are all equal: no std to divide by.
  const auto one =
      group_advantages(std::vector<double>{1, 0, 0},
                       options(AdvantageEstimator::leave_one_out, true, StdKind::leave_one_out));
  CHECK(one[0] == 1);
}

TEST_CASE("rl/advantage: a group of one gets 0 and says so") {
  for (const std::string& name : estimator_names()) {
    if (name == "raw") {
      continue;
    }
    CAPTURE(name);
    for (const bool by_std : {false, true}) {
      AdvantageReport report;
      const std::vector<Index> lengths{3};
      const auto got = group_advantages(
          std::vector<double>{0.7}, options(estimator_from_name(name), by_std), &report, lengths);
      CHECK(same_bits(got[0], 0.0));
      CHECK(report.single);
      CHECK_FALSE(report.zero_variance);
    }
  }
}

TEST_CASE(
    "rl/advantage: equal rewards give exactly 0 whatever their value, and the group is reported") {
  for (const std::string& name : estimator_names()) {
    if (name == "raw") {
      continue;
    }
    CAPTURE(name);
    for (const double reward : {0.1, 0.2, 0.7, 1.0 / 3, 0.0, -1.0}) {
      for (const std::size_t n : {2U, 3U, 5U, 6U, 8U}) {
        for (const bool by_std : {false, true}) {
          AdvantageReport report;
          const std::vector<Index> lengths(n, 7);
          const auto got =
              group_advantages(std::vector<double>(n, reward),
                               options(estimator_from_name(name), by_std), &report, lengths);
          for (const double a : got) {
            CHECK(same_bits(a, 0.0));
          }
          CHECK(report.zero_variance);
        }
      }
    }
  }
}

TEST_CASE(
    "rl/advantage: rewards within 1e-6 of each other are equal, rewards further apart are not") {
  const auto o = options(AdvantageEstimator::group_mean, true);
  for (const double a : group_advantages(std::vector<double>{0.5, 0.5 + 0.9e-6}, o)) {
    CHECK(a == 0);
  }
  for (const double a : group_advantages(std::vector<double>{0.5, 0.5 + 1.1e-6}, o)) {
    CHECK(a != 0);
  }
}

TEST_CASE("rl/advantage: the report holds the mean and the standard deviation with n - 1") {
  AdvantageReport report;
  group_advantages(kGroup, {}, &report);
  CHECK(near(report.reward_mean, 0.4, kClosedForm));
  CHECK(near(report.reward_std, 0.547722557505166, kClosedForm));
  CHECK_FALSE(report.single);
  CHECK_FALSE(report.zero_variance);
}

TEST_CASE("rl/advantage: statistics are of the group alone") {
  // Two groups of another batch position: the same advantages.
  const auto a = group_advantages(kGroup, options(AdvantageEstimator::group_mean, true));
  std::vector<double> shifted = kGroup;
  for (double& r : shifted) {
    r += 4;
  }
  const auto b = group_advantages(shifted, options(AdvantageEstimator::group_mean, true));
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(near(a[i], b[i], 1e-12));
  }
}

TEST_CASE(
    "rl/advantage: without the raw estimator the advantages of a mean-centred group sum to 0") {
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> rewards;
    for (int n = 2 + random.below(14); n > 0; --n) {
      rewards.push_back(random.between(-1, 1));
    }
    for (const auto estimator : {AdvantageEstimator::group_mean, AdvantageEstimator::leave_one_out,
                                 AdvantageEstimator::maxrl}) {
      double s = 0;
      double size = 0;
      for (const double a : group_advantages(rewards, options(estimator))) {
        s += a;
        size += std::fabs(a);
      }
      CHECK(std::fabs(s) <= 1e-12 * std::fmax(size, 1));
    }
  }
}

TEST_CASE("rl/advantage: a reward that is not finite is a data error") {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    try {
      group_advantages(std::vector<double>{0, bad}, {});
      FAIL("accepted");
    } catch (const Error& e) {
      CHECK(e.code() == Exit::data);
    }
  }
}

TEST_CASE("rl/advantage: REINFORCE++ whitens over the tokens of the batch") {
  constexpr double kPrinted = 5e-6;
  // Two prompts with one completion each: 2 tokens with reward 1, 3 tokens with reward 0.
  const std::vector<GroupOutcome> groups{{{1}, {2}}, {{0}, {3}}};
  const auto got = batch_advantages(groups, options(AdvantageEstimator::reinforce_pp));
  CHECK(near(got[0][0], 1.09545, kPrinted));
  CHECK(near(got[1][0], -0.730297, kPrinted));
  // With the baseline, groups of one have nothing left.
  for (const auto& g :
       batch_advantages(groups, options(AdvantageEstimator::reinforce_pp_baseline))) {
    CHECK(same_bits(g[0], 0.0));
  }
  // Group means are taken first: (1, 0) and (1, 1, 1, 0) become (.5, -.5) and (.25, .25, .25,
  // -.75).
  const std::vector<GroupOutcome> two{{{1, 0}, {1, 1}}, {{1, 1, 1, 0}, {1, 1, 1, 1}}};
  std::vector<AdvantageReport> reports;
  const auto baseline =
      batch_advantages(two, options(AdvantageEstimator::reinforce_pp_baseline), &reports);
  const double variance = (2 * .25 + 3 * .0625 + .5625) / 5;
  CHECK(near(baseline[0][0], .5 / std::sqrt(variance + 1e-8), kClosedForm));
  CHECK(near(baseline[1][3], -.75 / std::sqrt(variance + 1e-8), kClosedForm));
  REQUIRE(reports.size() == 2);
  CHECK(near(reports[1].reward_mean, .75, kClosedForm));
  // A batch without variance: exactly 0.
  const std::vector<GroupOutcome> flat{{{.1, .1, .1}, {1, 2, 3}}, {{.1}, {9}}};
  for (const auto& g : batch_advantages(flat, options(AdvantageEstimator::reinforce_pp))) {
    for (const double a : g) {
      CHECK(same_bits(a, 0.0));
    }
  }
}

TEST_CASE("rl/advantage: GPG scales by the share of completions with a score") {
  const std::vector<GroupOutcome> groups{{{1, 0, 0, 0}, {}}, {{0, 0, 0, 0}, {}}};
  const auto got = batch_advantages(groups, options(AdvantageEstimator::gpg));
  CHECK(near(got[0][0], .75 * 8, kClosedForm));
  CHECK(near(got[0][1], -.25 * 8, kClosedForm));
  CHECK(got[1][2] == 0);
}

TEST_CASE("rl/advantage: for the estimators of one group the batch is its groups") {
  const std::vector<GroupOutcome> groups{{{1, 0, 1, 0, 0}, {10, 20, 30, 40, 100}},
                                         {{0, 1}, {5, 6}}};
  for (const std::string& name : batch_estimator_names()) {
    const auto estimator = estimator_from_name(name);
    if (needs_whole_batch(estimator)) {
      CHECK_THROWS_AS(group_advantages(groups[0].rewards, options(estimator)), Error);
      continue;
    }
    CAPTURE(name);
    const auto batch = batch_advantages(groups, options(estimator));
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto single =
          group_advantages(groups[g].rewards, options(estimator), nullptr, groups[g].lengths);
      for (std::size_t i = 0; i < single.size(); ++i) {
        CHECK(same_bits(batch[g][i], single[i]));
      }
    }
  }
}

TEST_CASE("rl/advantage: names go both ways and a typo gets a suggestion") {
  for (const std::string& name : batch_estimator_names()) {
    CHECK(estimator_name(estimator_from_name(name)) == name);
  }
  CHECK_THROWS_WITH_AS(estimator_from_name("group_mean"),
                       doctest::Contains("did you mean 'group-mean'"), Error);
}

}  // namespace minirl::rl::test
