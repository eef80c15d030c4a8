#include "audit/bounds.h"

#include <doctest/doctest.h>

#include <cmath>

namespace minirl::audit {

TEST_CASE("audit/bounds: the identity J(pi) - J(mu) = L' - Delta holds, and both bounds do") {
  for (const BoundMeasure& m : bound_grid(3)) {
    CAPTURE(m.problem.length);
    CAPTURE(m.problem.change);
    CHECK(m.residual == doctest::Approx(m.residual_direct).epsilon(1e-9));
    CHECK(std::fabs(m.residual - m.residual_direct) < 1e-12);
    CHECK(m.improvement >= m.surrogate - m.penalty_max - 1e-12);
    CHECK(m.improvement >= m.surrogate - m.penalty_mean - 1e-12);
    CHECK(m.tv_max >= m.tv_sum / static_cast<double>(m.problem.length));
    CHECK(std::fabs(m.residual) > 0);
  }
}

TEST_CASE("audit/bounds: one token has no residual; equal policies have no change") {
  const BoundMeasure one = measure_bounds({4, 1, 1.0, 7});
  CHECK(std::fabs(one.residual) < 1e-15);
  CHECK(one.penalty_max == 0);
  const BoundMeasure same = measure_bounds({3, 3, 0.0, 7});
  CHECK(same.improvement == 0);
  CHECK(same.surrogate == 0);
  CHECK(same.tv_max == 0);
}

TEST_CASE("audit/bounds: the residual is of second order, the mean penalty of first") {
  const BoundMeasure a = measure_bounds({3, 4, 1e-3, 5});
  const BoundMeasure b = measure_bounds({3, 4, 2e-3, 5});
  CHECK(b.residual / a.residual == doctest::Approx(4).epsilon(0.02));
  CHECK(b.penalty_max / a.penalty_max == doctest::Approx(4).epsilon(0.02));
  CHECK(b.penalty_mean / a.penalty_mean == doctest::Approx(2).epsilon(0.02));
}

TEST_CASE("audit/bounds: the constructed case separates Binary from Top-K") {
  const std::string text = binary_blind_markdown("x");
  for (const char* row : {"| dppo_tv | delta = 0.15 | kept", "| dppo_kl | delta = 0.05 | kept", "| dppo_topk_tv | delta = 0.15 | masked", "| dppo_topk_kl | delta = 0.05 | masked"}) { CHECK_MESSAGE(text.find(row) != std::string::npos, row); }
}

}  // namespace minirl::audit
