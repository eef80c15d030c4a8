#include "kernels/bias.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(AddBias<float>)
MINIRL_ROW_PROGRAM(AddBias<double>)
MINIRL_ROW_PROGRAM(BiasGrad<float>)
MINIRL_ROW_PROGRAM(BiasGrad<double>)
}  // namespace minirl::kernels
