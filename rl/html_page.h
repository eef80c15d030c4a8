// minirl rl/html_page.h -- the frame of every page that minirl writes: one file, no network, light and
// dark, from a phone to a desktop.
#pragma once
#include <string>

namespace minirl::rl {

/// A whole document around `body` (HTML), with the style of pages and of figures (rl/plot.h). `title`
/// is plain text.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace minirl::rl
