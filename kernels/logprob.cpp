#include "kernels/logprob.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(LogProb<float>)
MINIRL_ROW_PROGRAM(LogProb<double>)
MINIRL_ROW_PROGRAM(LogProbBackward<float>)
MINIRL_ROW_PROGRAM(LogProbBackward<double>)
MINIRL_ROW_PROGRAM(SampleToken<float>)
MINIRL_ROW_PROGRAM(SampleToken<double>)
}  // namespace minirl::kernels
