#include "kernels/cuda_plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "kernels/backend.h"

namespace minirl::kernels {
namespace {

void* plugin = nullptr;  // stays loaded

template <class Fn>
Fn* function(const char* name) {
  return reinterpret_cast<Fn*>(dlsym(plugin, name));
}

std::string plugin_path() {
  if (const char* path = std::getenv("MINIRL_CUDA_PLUGIN"); path != nullptr && *path != '\0') { return path; }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "libminirl_cuda.so").string();
}

CudaStatus look() {
  CudaStatus status;
  status.plugin = plugin_path();
  std::error_code error;
  if (!std::filesystem::exists(status.plugin, error)) {
    status.why_not = fmt::format("there is no CUDA plugin at {}", status.plugin);
    return status;
  }
  plugin = dlopen(status.plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    status.why_not = fmt::format("the CUDA plugin cannot be loaded: {}", dlerror());
    return status;
  }
  auto* version = function<int()>("minirl_cuda_version");
  if (version == nullptr || version() != kPluginVersion) {
    status.why_not = fmt::format("{} is not the plugin of this build", status.plugin);
    return status;
  }
  status.loaded = true;
  function<void(PluginReport*)>("minirl_cuda_probe")(&status.report);
  status.why_not = status.report.why_not;
  return status;
}

}  // namespace

const CudaStatus& cuda_status() {
  static const CudaStatus status = look();
  return status;
}

Backend& open_cuda() {
  MINIRL_CHECK(cuda_status().why_not.empty(), "CUDA cannot be used: {}", cuda_status().why_not);
  static Backend& device = *function<Backend*()>("minirl_cuda_open")();
  return device;
}

}  // namespace minirl::kernels
