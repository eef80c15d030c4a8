#include "kernels/rope.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(Rope<float>)
MINIRL_ROW_PROGRAM(Rope<double>)
}  // namespace minirl::kernels
