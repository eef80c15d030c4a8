// minirl rl/statistics.h -- avg@k, pass@k and how far they may be trusted. The unit of chance is
// the problem: samples of one problem are not independent. Deterministic. docs/math/statistics.md.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace minirl::rl {

struct Interval {
  double value = 0;
  double lower = 0, upper = 0;
  double standard_error = 0;  // over problems (stat.3); what another draw of problems would change
  double sampling_error =
      0;  // (stat.4); what another draw of samples of these same problems would change
  double confidence = 0.95;
  std::string method;  // one sentence, for the table's footnote
};

/// k samples of one problem, c of them correct.
struct Trials {
  Index samples = 0;
  Index correct = 0;
};

/// Mean over problems of the mean over each problem's samples (stat.1), with an interval for the
/// mean over the population of problems. Scores within [0, 1]: Wilson's interval at the effective
/// sample size (stat.5), always inside [0, 1] and never of width 0. Other scores: Student's t over
/// problems (stat.6). Every problem needs at least one score; fails with Exit::data on a score that
/// is not finite.
Interval average_at_k(std::span<const std::vector<double>> scores, double confidence = 0.95);

/// 1 - C(n - c, k) / C(n, k): the chance that k of the n samples drawn without replacement hold a
/// correct one; unbiased (stat.2). Needs 1 <= k <= n, 0 <= c <= n.
double pass_at_k(Index samples, Index correct, Index k);
/// Mean over problems of (stat.2), interval as for average_at_k. Every problem needs k samples or
/// more.
Interval pass_at_k(std::span<const Trials> problems, Index k, double confidence = 0.95);

/// after - before, mean over the same problems, Student's t over the differences (stat.7). The
/// difference of two scores of one problem set is known better than either score.
Interval paired_difference(std::span<const double> before, std::span<const double> after,
                           double confidence = 0.95);

/// The t with P(|T| <= t) = confidence for Student's distribution; freedom >= 1.
double student_t(Index freedom, double confidence);

}  // namespace minirl::rl
