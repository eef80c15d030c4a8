#include "kernels/rmsnorm.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(RmsNormForward<float>)
MINIRL_ROW_PROGRAM(RmsNormForward<double>)
MINIRL_ROW_PROGRAM(RmsNormBackward<float>)
MINIRL_ROW_PROGRAM(RmsNormBackward<double>)
MINIRL_ROW_PROGRAM(RmsNormWeightGrad<float>)
MINIRL_ROW_PROGRAM(RmsNormWeightGrad<double>)
}  // namespace minirl::kernels
