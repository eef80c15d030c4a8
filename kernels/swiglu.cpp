#include "kernels/swiglu.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(SwigluForward<float>)
MINIRL_ROW_PROGRAM(SwigluForward<double>)
MINIRL_ROW_PROGRAM(SwigluBackward<float>)
MINIRL_ROW_PROGRAM(SwigluBackward<double>)
}  // namespace minirl::kernels
