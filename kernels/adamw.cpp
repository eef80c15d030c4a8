#include "kernels/adamw.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(AdamW)
MINIRL_ROW_PROGRAM(SquaredNorm)
}  // namespace minirl::kernels
