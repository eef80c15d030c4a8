#include "kernels/elementwise.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(Add<float>)
MINIRL_ROW_PROGRAM(Add<double>)
MINIRL_ROW_PROGRAM(AddInto<float>)
MINIRL_ROW_PROGRAM(AddInto<double>)
}  // namespace minirl::kernels
