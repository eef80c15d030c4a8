#include "rl/statistics.h"

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

/// C(n - c, k) / C(n, k) by exact integers.
double none_correct(int n, int c, int k) {
  const auto choose = [](int a, int b) {
    double r = 1;
    for (int i = 0; i < b; ++i) {
      r = r * (a - i) / (i + 1);
    }
    return a < b ? 0 : r;
  };
  return choose(n - c, k) / choose(n, k);
}

}  // namespace

TEST_CASE("rl/statistics: pass@k of the vectors and of every small case") {
  constexpr double kPrinted = 5e-7;
  CHECK(near(pass_at_k(16, 3, 1), 0.1875, 1e-15));
  CHECK(near(pass_at_k(16, 3, 4), 0.607143, kPrinted));
  CHECK(pass_at_k(16, 3, 16) == 1);
  for (int n = 1; n <= 12; ++n) {
    for (int c = 0; c <= n; ++c) {
      for (int k = 1; k <= n; ++k) {
        CHECK(near(pass_at_k(n, c, k), 1 - none_correct(n, c, k), 1e-13));
      }
      CHECK(near(pass_at_k(n, c, 1), static_cast<double>(c) / n, 1e-15));
    }
  }
}

TEST_CASE("rl/statistics: pass@k is unbiased: its mean over all outcomes is 1 - (1 - p)^k") {
  const int n = 9;
  for (const double p : {0.05, 0.3, 0.8}) {
    for (int k = 1; k <= n; ++k) {
      double mean = 0;
      double probability = std::pow(1 - p, n);  // of c = 0
      for (int c = 0; c <= n; ++c) {
        mean += probability * pass_at_k(n, c, k);
        probability *= p / (1 - p) * (n - c) / (c + 1);
      }
      CHECK(near(mean, 1 - std::pow(1 - p, k), 1e-12));
    }
  }
}

TEST_CASE("rl/statistics: avg@k is the mean over problems of the mean over samples") {
  const std::vector<std::vector<double>> scores{{1, 1, 0, 0}, {1}, {0, 0}};
  const Interval got = average_at_k(scores);
  CHECK(near(got.value, 0.5, 1e-15));
  // Means 0.5, 1, 0: variance (n - 1) is 0.25, over 3 problems.
  CHECK(near(got.standard_error, std::sqrt(0.25 / 3), 1e-15));
  // Only the first problem has noise: its mean has variance (1/3) / 4.
  CHECK(near(got.sampling_error, std::sqrt(1.0 / 12) / 3, 1e-15));
  CHECK(got.lower >= 0);
  CHECK(got.upper <= 1);
}

TEST_CASE("rl/statistics: Student's t by the tables") {
  constexpr double kTable = 5e-4;
  CHECK(near(student_t(1, 0.95), 12.706, kTable));
  CHECK(near(student_t(2, 0.95), 4.3027, kTable));
  CHECK(near(student_t(5, 0.95), 2.5706, kTable));
  CHECK(near(student_t(10, 0.99), 3.1693, kTable));
  CHECK(near(student_t(29, 0.95), 2.0452, kTable));
  CHECK(near(student_t(29, 0.90), 1.6991, kTable));
  CHECK(near(student_t(999, 0.95), 1.9623, kTable));
  CHECK(near(student_t(100000, 0.95), 1.95996, kTable));
}

TEST_CASE("rl/statistics: a perfect or a hopeless score still has an interval of some width") {
  for (const double score : {0.0, 1.0}) {
    const std::vector<std::vector<double>> scores(30, std::vector<double>(8, score));
    const Interval got = average_at_k(scores);
    CHECK(got.value == score);
    CHECK(got.upper - got.lower > 0.05);
    CHECK(got.upper - got.lower < 0.2);
    CHECK((score == 0 ? got.lower == 0 : got.upper == 1));
  }
}

TEST_CASE("rl/statistics: samples of one problem are not independent answers") {
  // All samples of a problem agree: 32 samples say no more than 1.
  std::vector<std::vector<double>> one;
  std::vector<std::vector<double>> many;
  for (int i = 0; i < 20; ++i) {
    one.push_back({static_cast<double>(i % 2)});
    many.push_back(std::vector<double>(32, static_cast<double>(i % 2)));
  }
  const Interval a = average_at_k(one);
  const Interval b = average_at_k(many);
  CHECK(near(a.lower, b.lower, 1e-12));
  CHECK(near(a.upper, b.upper, 1e-12));
  // Every problem a fair coin: more samples do narrow it.
  Random random(13);
  std::vector<std::vector<double>> coins(20);
  for (auto& c : coins) {
    for (int k = 0; k < 32; ++k) {
      c.push_back(random.uniform() < 0.5 ? 1 : 0);
    }
  }
  CHECK(average_at_k(coins).upper - average_at_k(coins).lower < 0.4 * (b.upper - b.lower));
}

TEST_CASE("rl/statistics: the 95% intervals cover the true mean about 95 times in 100") {
  // 400 draws of 25 problems with 4 samples each; a problem's chance is u^2, so the true mean is
  // 1/3 and true pass@2 is 1 - E(1 - u^2)^2 = 1 - (1 - 2/3 + 1/5) = 7/15. Of 400 draws at 95%, 380
  // +- 3 * 4.4.
  Random random(14);
  int average_covers = 0;
  int pass_covers = 0;
  for (int draw = 0; draw < 400; ++draw) {
    std::vector<std::vector<double>> scores(25);
    std::vector<Trials> trials;
    for (auto& problem : scores) {
      const double u = random.uniform();
      Trials t{4, 0};
      for (int k = 0; k < 4; ++k) {
        const bool correct = random.uniform() < u * u;
        problem.push_back(correct ? 1 : 0);
        t.correct += correct ? 1 : 0;
      }
      trials.push_back(t);
    }
    const Interval a = average_at_k(scores);
    const Interval p = pass_at_k(trials, 2);
    average_covers += a.lower <= 1.0 / 3 && 1.0 / 3 <= a.upper ? 1 : 0;
    pass_covers += p.lower <= 7.0 / 15 && 7.0 / 15 <= p.upper ? 1 : 0;
  }
  MESSAGE("covered: avg@4 " << average_covers << ", pass@2 " << pass_covers << " of 400");
  CHECK(average_covers >= 366);
  CHECK(average_covers <= 394);
  CHECK(pass_covers >= 366);
  CHECK(pass_covers <= 394);
}

TEST_CASE("rl/statistics: scores outside [0, 1] get Student's t, one problem gets no interval") {
  const std::vector<std::vector<double>> scores{{-1, 1}, {1, 1}, {-1, -1}, {1, -1}};
  const Interval got = average_at_k(scores);
  CHECK(got.value == 0);
  const double se = std::sqrt((1 + 1) / 3.0 / 4);
  CHECK(near(got.upper, student_t(3, 0.95) * se, 1e-12));
  CHECK(near(got.lower, -got.upper, 1e-12));
  const std::vector<std::vector<double>> single{{1, 0, 1}};
  CHECK(average_at_k(single).lower == 0);
  CHECK(average_at_k(single).upper == 1);
}

TEST_CASE("rl/statistics: a paired difference is sharper than two separate scores") {
  std::vector<double> before;
  std::vector<double> after;
  std::vector<std::vector<double>> separate;
  for (int i = 0; i < 16; ++i) {
    before.push_back(i / 20.0);
    after.push_back(i / 20.0 + 0.1 + 0.01 * (i % 3));
    separate.push_back({before.back()});
  }
  const Interval d = paired_difference(before, after);
  CHECK(d.lower > 0.1);
  CHECK(d.upper < 0.12);
  CHECK(average_at_k(separate).upper - average_at_k(separate).lower > 5 * (d.upper - d.lower));
}

TEST_CASE("rl/statistics: the interval narrows with fewer demands") {
  const std::vector<std::vector<double>> scores{{1, 0}, {1, 1}, {0, 0}, {0, 1}, {1, 1}};
  const Interval wide = average_at_k(scores, 0.99);
  const Interval narrow = average_at_k(scores, 0.8);
  CHECK(wide.lower < narrow.lower);
  CHECK(wide.upper > narrow.upper);
}

}  // namespace minirl::rl::test
