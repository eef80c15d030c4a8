#include "cli/progress.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"
#include "core/signals.h"
#include "core/stopwatch.h"
#include "model/staged_directory.h"

namespace minirl::cli {

std::function<void(std::size_t, std::size_t)> byte_progress(std::string what) {
  struct State {
    Stopwatch watch;
    bool draw = ::isatty(::fileno(stderr)) != 0;
    double next = 1;  // seconds
    bool drawn = false;
  };
  return [what = std::move(what), state = std::make_shared<State>()](std::size_t done,
                                                                      std::size_t total) {
    if (const int signal = caught_signal(); signal != 0) {
      throw Error(signal == SIGTERM ? Exit::terminated : Exit::interrupted,
                  what + ": stopped by a signal; nothing was kept");
    }
    const bool last = done == total;
    if (!state->draw || (state->watch.seconds() < state->next && !(last && state->drawn))) {
      return;
    }
    state->next = state->watch.seconds() + 0.25;
    state->drawn = true;
    std::fputs(fmt::format("\r{} {} of {}{}", what, decimal_bytes(done), decimal_bytes(total),
                           last ? "\n" : "   ")
                   .c_str(),
               stderr);
  };
}

}  // namespace minirl::cli
