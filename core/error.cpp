#include "core/error.h"

namespace minirl {

void fail(Exit code, std::string message, std::string_view hint) {
  if (!hint.empty()) { message += "\n  hint: " + std::string(hint); }
  throw Error(code, message);
}

void fail_check(const char* expression, const char* file, int line, const std::string& message) {
  std::string_view path(file);
  // The path below the source root is enough, and the same on every machine.
  for (std::string_view layer : {"/core/", "/kernels/", "/autograd/", "/model/", "/data/", "/rl/", "/audit/", "/cli/"}) {
    if (const auto at = path.rfind(layer); at != std::string_view::npos) {
      path.remove_prefix(at + 1);
      break;
    }
  }
  throw Error(Exit::runtime, fmt::format("internal check failed: {} ({}) at {}:{}", message, expression, path, line));
}

}  // namespace minirl
