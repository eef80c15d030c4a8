// minirl rl/device.h -- where a command computes: on the CPU or on a CUDA device. The bits are the same (docs/cuda.md).
#pragma once
#include <string>

#include "core/exec.h"
#include "rl/config.h"

namespace minirl::rl {

struct DeviceChoice {
  bool cuda = false;
  /// One line for people: "device cpu: there is no NVIDIA driver (libcuda.so.1) on this machine"; empty when the CPU
  /// was asked for.
  std::string text;
  Index free_bytes = 0;  // of the device
};

/// By runtime.device: "cpu"; "cuda", an error (usage) with the reason where it cannot be used; "auto", CUDA where it
/// can be used. Settings that the device does not serve count as reasons.
DeviceChoice choose_device(const Config& config);

/// Threads and instruction set as configured, on the chosen device.
Exec make_device_exec(const Config& config);

}  // namespace minirl::rl
