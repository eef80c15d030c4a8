// minirl rl/html_page.h -- the frame of every page that minirl writes: one file, no network, light
// and dark, from a phone to a desktop.
#pragma once
#include <string>

namespace minirl::rl {

/// A whole document around `body` (HTML), with the style and script of pages and of figures
/// (rl/plot.h), then `style` and `script`. `title` is plain text. The page forbids itself to load
/// anything; `live`: it may ask the server that it came from.
std::string html_page(const std::string& title, const std::string& body,
                      const std::string& style = "", const std::string& script = "",
                      bool live = false);

}  // namespace minirl::rl
