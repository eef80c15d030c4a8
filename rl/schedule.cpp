#include "rl/schedule.h"

#include <cmath>

#include "core/fmath.h"
#include "core/registry.h"

namespace minirl::rl {
namespace {
const std::vector<std::string>& names() {
  static const std::vector<std::string> list{"constant", "linear", "cosine"};
  return list;
}
constexpr double kPi = 3.14159265358979323846;
}  // namespace

std::string_view schedule_name(ScheduleKind kind) {
  return names()[static_cast<std::size_t>(kind)];
}

ScheduleKind schedule_from_name(std::string_view name) {
  for (std::size_t i = 0; i < names().size(); ++i) {
    if (names()[i] == name) {
      return static_cast<ScheduleKind>(i);
    }
  }
  const std::string near = nearest_name(name, names());
  fail(Exit::usage, fmt::format("unknown learning-rate schedule '{}'", name),
       (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) +
           "known: constant, linear, cosine");
}

void check_schedule(const ScheduleOptions& o) {
  if (!(o.learning_rate >= 0) || !std::isfinite(o.learning_rate)) {
    fail(Exit::usage, fmt::format("learning rate {}", o.learning_rate),
         "it must be a finite number, 0 or more");
  }
  if (o.warmup_steps < 0) {
    fail(Exit::usage, fmt::format("{} warm-up steps", o.warmup_steps), "0 or more");
  }
  if (!(o.final_fraction >= 0 && o.final_fraction <= 1)) {
    fail(Exit::usage, fmt::format("final learning-rate fraction {}", o.final_fraction),
         "it must lie in [0, 1]");
  }
  if (o.kind != ScheduleKind::constant && o.total_steps <= o.warmup_steps) {
    fail(Exit::usage,
         fmt::format(
             "the {} schedule has {} steps of which {} are warm-up: nothing is left to decay over",
             schedule_name(o.kind), o.total_steps, o.warmup_steps),
         "use fewer warm-up steps, more steps, or the constant schedule");
  }
}

double learning_rate_at(const ScheduleOptions& o, Index step) {
  MINIRL_CHECK(step >= 0, "step {}", step);
  if (step < o.warmup_steps) {
    return o.learning_rate * (static_cast<double>(step + 1) / static_cast<double>(o.warmup_steps));
  }
  if (o.kind == ScheduleKind::constant) {
    return o.learning_rate;
  }
  const double f = o.final_fraction;
  if (step >= o.total_steps) {
    return o.learning_rate * f;
  }
  const double progress = static_cast<double>(step - o.warmup_steps) /
                          static_cast<double>(o.total_steps - o.warmup_steps);
  if (o.kind == ScheduleKind::linear) {
    return o.learning_rate * (1 + (f - 1) * progress);
  }
  return o.learning_rate * (f + (1 - f) * (0.5 * (1 + fmath::cos(kPi * progress))));
}

}  // namespace minirl::rl
