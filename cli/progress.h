// minirl cli/progress.h -- one line that grows in place while large files are read or written.
#pragma once
#include <functional>
#include <string>

namespace minirl::cli {

/// Draws on a terminal, a few times a second, once the work has taken a second; silent elsewhere.
/// Where signals are caught (core/signals.h), throws Error(interrupted | terminated) after one, so
/// that files that are half written are taken away.
std::function<void(std::size_t done, std::size_t total)> byte_progress(std::string what);

}  // namespace minirl::cli
