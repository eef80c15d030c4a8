#include "rl/progress_line.h"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/build_info.h"

namespace minirl::rl {
namespace {

// Columns of the terminal, or a usual width.
std::size_t columns(std::FILE* stream) {
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 120;
}

}  // namespace

std::string duration(double seconds) {
  if (seconds < 60) {
    return fmt::format("{:.1f} s", seconds);
  }
  const auto whole = static_cast<Index>(seconds + 0.5);
  if (whole < 3600) {
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

ProgressLine::ProgressLine(const std::string& mode, std::FILE* stream) : stream_(stream) {
  const bool terminal = ::isatty(::fileno(stream)) == 1;
  style_ = mode == "off"                                      ? Style::off
           : mode == "plain" || (mode == "auto" && !terminal) ? Style::plain
                                                              : Style::line;
}

ProgressLine::~ProgressLine() {
  if (open_) {
    std::fputc('\n', stream_);
  }
}

void ProgressLine::clear() {
  if (open_) {
    std::fputs("\r\x1b[K", stream_);
  }
  open_ = false;
}

void ProgressLine::start(std::string_view phase, Index done, Index total) {
  if (open_) {
    std::fputc('\n', stream_);
  }
  open_ = false;
  phase_ = phase;
  first_ = done;
  total_ = total;
  printed_at_ = -kPlainSeconds;
  watch_ = Stopwatch();
}

void ProgressLine::step(Index step, std::string_view text) {
  if (style_ == Style::off) {
    return;
  }
  const double now = watch_.seconds();
  const bool last = step >= total_;
  if (style_ == Style::plain && !last && step != first_ + 1 && now - printed_at_ < kPlainSeconds) {
    return;
  }
  printed_at_ = now;
  const double each = now / static_cast<double>(std::max<Index>(step - first_, 1));
  const std::string rest =
      last ? fmt::format("in {}", duration(now))
           : fmt::format("ETA {}", duration(each * static_cast<double>(total_ - step)));
  const auto width = fmt::format("{}", total_).size();
  std::string line = fmt::format("{} {:>{}}/{}  {}  {:.0f} MiB  {}", phase_, step, width, total_,
                                 text, static_cast<double>(resident_bytes()) / 1048576.0, rest);
  if (style_ == Style::plain) {
    std::fputs((line + "\n").c_str(), stream_);
  } else {
    line.resize(std::min(line.size(), columns(stream_) - 1));
    clear();
    std::fputs(line.c_str(), stream_);
    open_ = !last;
    if (last) {
      std::fputc('\n', stream_);
    }
  }
  std::fflush(stream_);
}

void ProgressLine::note(std::string_view text) {
  if (style_ == Style::off) {
    return;
  }
  clear();
  std::fputs((std::string(text) + "\n").c_str(), stream_);
  std::fflush(stream_);
}

}  // namespace minirl::rl
