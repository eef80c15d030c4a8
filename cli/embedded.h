// minirl cli/embedded.h -- the bundled configs, compiled into the binary (cmake/embed.cmake).
#pragma once
#include <string_view>
#include <vector>

namespace minirl::cli {

struct EmbeddedFile {
  std::string_view name;  // relative to configs/, e.g. "qwen3.toml"
  std::string_view text;
};

/// All files below configs/, in alphabetical order.
const std::vector<EmbeddedFile>& embedded_files();

}  // namespace minirl::cli
