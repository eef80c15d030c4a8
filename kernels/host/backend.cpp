#include "kernels/backend.h"

#include "core/exec.h"

namespace minirl::kernels {
namespace {

Backend* the_backend = nullptr;  // set once, before the first tensor on the device

}  // namespace

Backend& backend(const Exec& exec) {
  MINIRL_CHECK(exec.device.kind == DeviceKind::cuda && the_backend != nullptr, "work for a device, but the process has no backend for it");
  return *the_backend;
}

void set_backend(Backend* backend) { the_backend = backend; }

}  // namespace minirl::kernels
