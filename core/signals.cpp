#include "core/signals.h"

#include <csignal>
#include <initializer_list>

namespace minirl {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void minirl_on_signal(int number) {
  caught = number;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = minirl_on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) {
    sigaction(number, &action, nullptr);
  }
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    std::signal(number, SIG_IGN);
  }
}

int caught_signal() {
  return caught;
}

}  // namespace minirl
