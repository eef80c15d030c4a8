// minirl rl/schedule.h -- the learning rate of an optimizer step: a pure function of its number.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace minirl::rl {

enum class ScheduleKind { constant, linear, cosine };
std::string_view schedule_name(ScheduleKind kind);
ScheduleKind schedule_from_name(std::string_view name);  // Exit::usage, "did you mean"

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  double learning_rate = 1e-6;  // the peak, per step
  Index warmup_steps = 0;       // rises linearly; the last warm-up step runs at the peak
  Index total_steps = 0;        // steps of the whole run; linear and cosine need it
  double final_fraction = 0;    // f: where the decay ends, as a fraction of the peak
};

/// Fails with Exit::usage where the options make no schedule (warm-up longer than the run, ...).
void check_schedule(const ScheduleOptions& options);

/// Step counts from 0. With W = warmup_steps, N = total_steps, p = (step - W) / (N - W):
///   step < W     learning_rate (step + 1) / W                                   (lr.1)
///   constant     learning_rate                                                  (lr.2)
///   linear       learning_rate (1 + (final_fraction - 1) p)                     (lr.3)
///   cosine       learning_rate (f + (1 - f) (1 + cos(pi p)) / 2)                (lr.4)
/// The first step runs above 0, and the final fraction f would be reached by the step after the
/// last: no step is wasted at 0. A step beyond the run (step >= N) gets learning_rate * f.
double learning_rate_at(const ScheduleOptions& options, Index step);

}  // namespace minirl::rl
