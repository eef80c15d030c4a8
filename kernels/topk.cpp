#include "kernels/topk.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(TopK<float>)
MINIRL_ROW_PROGRAM(TopK<double>)
MINIRL_ROW_PROGRAM(GatherLogProb<float>)
MINIRL_ROW_PROGRAM(GatherLogProb<double>)
}  // namespace minirl::kernels
