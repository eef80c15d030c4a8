// The plugin whose device is the emulator: MINIRL_CUDA_PLUGIN=.../libminirl_emulated.so minirl train ... --device cuda
// runs the whole program on emulated CUDA.
#include <cstdio>

#include "kernels/backend.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda_plugin.h"

using namespace minirl::kernels;

extern "C" MINIRL_PLUGIN_EXPORT int minirl_cuda_version() { return kPluginVersion; }

extern "C" MINIRL_PLUGIN_EXPORT void minirl_cuda_probe(PluginReport* report) {
  *report = {};
  std::snprintf(report->device, sizeof report->device, "emulated device");
  report->free_bytes = report->total_bytes = std::size_t{1} << 30;
}

extern "C" MINIRL_PLUGIN_EXPORT Backend* minirl_cuda_open() { return cuda::make_backend(nullptr); }
