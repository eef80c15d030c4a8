#include "kernels/logit_noise.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(LogitNoise<float>)
MINIRL_ROW_PROGRAM(LogitNoise<double>)
}  // namespace minirl::kernels
