// libminirl_cuda.so: what the executable finds in it (kernels/cuda_plugin.h).
#include <cstdio>
#include <memory>

#include "kernels/backend.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda_plugin.h"

namespace minirl::kernels::cuda {
namespace {

/// One plain sentence, without its full stop: why no device can be used, or nothing.
std::string why_not() {
  int driver = 0, devices = 0;
  cudaDriverGetVersion(&driver);
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  switch (const cudaError_t error = cudaGetDeviceCount(&devices)) {
    case cudaSuccess: return devices > 0 ? "" : "no NVIDIA device is visible (CUDA_VISIBLE_DEVICES may hide it)";
    case cudaErrorInsufficientDriver:
      return driver == 0 ? "there is no NVIDIA driver (libcuda.so.1) on this machine"
                         : "the NVIDIA driver supports CUDA " + version(driver) + ", and this build needs " + version(CUDART_VERSION);
    case cudaErrorStubLibrary: return "the toolkit's stub of libcuda.so was loaded in place of the driver: take .../lib64/stubs out of LD_LIBRARY_PATH";
    case cudaErrorNoDevice: return "no NVIDIA device is visible (CUDA_VISIBLE_DEVICES may hide it)";
    default: return std::string("the CUDA runtime says: ") + cudaGetErrorString(error);
  }
}

}  // namespace
}  // namespace minirl::kernels::cuda

using namespace minirl::kernels;

extern "C" MINIRL_PLUGIN_EXPORT int minirl_cuda_version() { return kPluginVersion; }

extern "C" MINIRL_PLUGIN_EXPORT void minirl_cuda_probe(PluginReport* report) {
  const std::string reason = cuda::why_not();
  std::snprintf(report->why_not, sizeof report->why_not, "%s", reason.c_str());
  cudaRuntimeGetVersion(&report->runtime_version);
  cudaDriverGetVersion(&report->driver_version);
  if (!reason.empty()) { return; }
  cudaDeviceProp device{};
  std::size_t free_bytes = 0, total_bytes = 0;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
    std::snprintf(report->why_not, sizeof report->why_not, "device 0 does not answer: %s", cudaGetErrorString(cudaGetLastError()));
    return;
  }
  std::snprintf(report->device, sizeof report->device, "%s", device.name);
  report->architecture = device.major * 10 + device.minor;
  report->multiprocessors = device.multiProcessorCount;
  report->free_bytes = free_bytes;
  report->total_bytes = total_bytes;
  // A device older than what the kernels were compiled for has no code to run.
  cudaFuncAttributes kernel{};
  if (cuda::any_kernel_attributes(&kernel) != cudaSuccess) {
    std::snprintf(report->why_not, sizeof report->why_not, "%s is of architecture sm_%d, for which this build has no code (MINIRL_CUDA_ARCHITECTURES)", device.name, report->architecture);
  }
}

extern "C" MINIRL_PLUGIN_EXPORT minirl::kernels::Backend* minirl_cuda_open() {
  cuda::check(cudaSetDevice(0), "device 0");
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  return cuda::make_backend(stream);  // for the life of the process
}
