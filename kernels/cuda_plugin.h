// minirl kernels/cuda_plugin.h -- all CUDA code lives in libminirl_cuda.so, which is loaded when it is wanted: the same
// minirl runs on machines with and without CUDA and says which device it uses and why.
#pragma once
#include <cstddef>
#include <string>

namespace minirl::kernels {

class Backend;

// ---- the border: what the plugin exports and the executable calls
/// Changes with this file and with kernels/backend.h: both sides must be of one build.
inline constexpr int kPluginVersion = 1;
#define MINIRL_PLUGIN_EXPORT __attribute__((visibility("default")))

struct PluginReport {
  char why_not[512];  // a sentence without its full stop; empty: device 0 can be used
  int runtime_version, driver_version;  // 13000 is 13.0; 0: none
  char device[256];
  int architecture;  // 90 is sm_90
  int multiprocessors;
  std::size_t free_bytes, total_bytes;
};

// ---- the executable's side
struct CudaStatus {
  std::string plugin;   // path that was tried
  bool loaded = false;
  std::string why_not;  // empty: usable
  PluginReport report{};
};
/// Loads the plugin from MINIRL_CUDA_PLUGIN, or from beside the executable, and asks it; once a process.
const CudaStatus& cuda_status();
/// Opens the device. cuda_status().why_not must be empty.
Backend& open_cuda();

}  // namespace minirl::kernels
