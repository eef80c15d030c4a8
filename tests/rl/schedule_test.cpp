#include "rl/schedule.h"

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {
ScheduleOptions options(ScheduleKind kind) {
  return {kind, 2e-3, 4, 20, 0.1};
}
constexpr double kRounding = 1e-15;
}  // namespace

TEST_CASE("rl/schedule: warm-up rises in equal steps, starts above 0 and ends at the peak") {
  for (const auto kind : {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine}) {
    for (Index step = 0; step < 4; ++step) {
      CHECK(near(learning_rate_at(options(kind), step), 2e-3 * static_cast<double>(step + 1) / 4,
                 kRounding));
    }
    CHECK(learning_rate_at(options(kind), 3) == 2e-3);
    CHECK(learning_rate_at(options(kind), 4) == 2e-3);
  }
}

TEST_CASE("rl/schedule: linear and cosine follow their formulas and never pass the end value") {
  for (Index step = 4; step < 40; ++step) {
    const double p = std::fmin(1.0, static_cast<double>(step - 4) / 16);
    CHECK(near(learning_rate_at(options(ScheduleKind::constant), step), 2e-3, kRounding));
    CHECK(near(learning_rate_at(options(ScheduleKind::linear), step), 2e-3 * (1 - 0.9 * p),
               kRounding));
    CHECK(near(learning_rate_at(options(ScheduleKind::cosine), step),
               2e-3 * (0.1 + 0.9 * 0.5 * (1 + std::cos(3.14159265358979323846 * p))), kRounding));
  }
  CHECK(near(learning_rate_at(options(ScheduleKind::cosine), 12), 2e-3 * 0.55, kRounding));
  CHECK(learning_rate_at(options(ScheduleKind::linear), 20) == 2e-3 * 0.1);
  CHECK(learning_rate_at(options(ScheduleKind::linear), 19) > 2e-3 * 0.1);
}

TEST_CASE("rl/schedule: without warm-up the first step runs at the peak, and the last above 0") {
  for (const auto kind : {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine}) {
    const ScheduleOptions o{kind, 1.0, 0, 7, 0};
    CHECK(learning_rate_at(o, 0) == 1.0);
    CHECK(learning_rate_at(o, 6) > 0);
  }
}

TEST_CASE("rl/schedule: options that make no schedule are refused") {
  const auto refused = [](const ScheduleOptions& o) {
    try {
      check_schedule(o);
      return false;
    } catch (const Error& e) {
      return e.code() == Exit::usage;
    }
  };
  CHECK_FALSE(refused(options(ScheduleKind::cosine)));
  CHECK_FALSE(refused({ScheduleKind::constant, 1e-6, 10, 0, 0}));
  CHECK(refused({ScheduleKind::linear, 1e-6, 10, 10, 0}));
  CHECK(refused({ScheduleKind::linear, -1e-6, 0, 10, 0}));
  CHECK(refused({ScheduleKind::linear, std::nan(""), 0, 10, 0}));
  CHECK(refused({ScheduleKind::linear, 1e-6, -1, 10, 0}));
  CHECK(refused({ScheduleKind::linear, 1e-6, 0, 10, 1.5}));
  CHECK_THROWS_WITH_AS(schedule_from_name("cosin"), doctest::Contains("did you mean 'cosine'"),
                       Error);
  CHECK(schedule_name(schedule_from_name("linear")) == "linear");
}

}  // namespace minirl::rl::test
