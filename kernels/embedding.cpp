#include "kernels/embedding.h"

namespace minirl::kernels {
MINIRL_ROW_PROGRAM(EmbeddingForward<float>)
MINIRL_ROW_PROGRAM(EmbeddingForward<double>)
MINIRL_ROW_PROGRAM(EmbeddingBackward<float>)
MINIRL_ROW_PROGRAM(EmbeddingBackward<double>)
}  // namespace minirl::kernels
