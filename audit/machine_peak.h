// minirl audit/machine_peak.h -- what this machine can do now: the ceilings that speeds are shares of.
#pragma once
#include <functional>

#include "core/exec.h"

namespace minirl::audit {

/// fp32 fused multiply-adds of `threads` threads under the instruction set in use, GFLOP/s: the best of a few short
/// loops of nothing else.
double fma_peak(int threads);

/// Bytes a second that `threads` threads read from memory, the best of a few passes over a buffer of 256 MiB, GB/s.
/// One thread is measured by its processor time.
double read_bandwidth(int threads);

/// Seconds of one call of `body`: the lower decile of calls that fill about `budget` seconds (at least five), because
/// whatever else runs on the machine only ever adds time.
double measure_seconds(double budget, const std::function<void()>& body);

/// Processor time of all threads of this process, seconds: on a machine that does other work too, it says more
/// about one thread than the clock on the wall.
double processor_seconds();

}  // namespace minirl::audit
