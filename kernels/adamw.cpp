#include "kernels/adamw.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(AdamW)
MINIRL_ROW_PROGRAM(AdamWStored<float, std::uint16_t>)
MINIRL_ROW_PROGRAM(AdamWStored<std::uint16_t, float>)
MINIRL_ROW_PROGRAM(AdamWStored<std::uint16_t, std::uint16_t>)
MINIRL_ROW_PROGRAM(SquaredNorm)
}  // namespace minirl::kernels
