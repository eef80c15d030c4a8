#include "rl/device.h"

#include "kernels/backend.h"
#include "kernels/cuda_plugin.h"
#include "rl/memory_plan.h"
#include "rl/trainer.h"

namespace minirl::rl {
namespace {

/// Why the device cannot serve this configuration, or nothing.
std::string unserved(const Config& config) {
  if (config.train.weights_dtype != "f32") { return "train.weights_dtype = \"" + config.train.weights_dtype + "\" is not offered on a device"; }
  return kernels::cuda_status().why_not;
}

}  // namespace

DeviceChoice choose_device(const Config& config) {
  const std::string& wanted = config.runtime.device;
  if (wanted == "cpu") { return {}; }
  const std::string why = unserved(config);
  if (!why.empty()) {
    if (wanted == "cuda") { fail(Exit::usage, fmt::format("runtime.device = \"cuda\": {}", why), "`minirl doctor` says what it sees; --device cpu computes the same bits"); }
    return {false, "device cpu: " + why, 0};
  }
  const kernels::PluginReport& report = kernels::cuda_status().report;
  const auto free_bytes = static_cast<Index>(report.free_bytes);
  return {true, fmt::format("device cuda: {}, {} of its memory are free", report.device, binary_bytes(free_bytes)), free_bytes};
}

Exec make_device_exec(const Config& config) {
  Exec exec = make_exec(config.runtime);
  if (!choose_device(config).cuda) { return exec; }
  static Arena* const arena = [] {  // never destroyed: static tensors may outlive main
    kernels::Backend& device = kernels::open_cuda();
    kernels::set_backend(&device);
    return new Arena(device);
  }();
  exec.device = {DeviceKind::cuda, 0};
  exec.arena = arena;
  return exec;
}

}  // namespace minirl::rl
