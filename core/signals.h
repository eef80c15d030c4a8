// minirl core/signals.h -- SIGINT and SIGTERM become a flag that long loops poll.
#pragma once

namespace minirl {

/// From now on the first SIGINT or SIGTERM only sets the flag, so that the run can write a
/// checkpoint; a second one ends the process at once, as without this call. SIGPIPE and SIGXFSZ
/// become errors of the write.
void catch_signals();
/// 0, or the number of the signal that came first.
int caught_signal();

}  // namespace minirl
