// minirl kernels/cuda/rows_check.cu -- every row program, instantiated as a CUDA kernel: the one source
// for both devices compiles for the GPU wherever nvcc is installed (cmake/cuda_check.cmake).
#include "kernels/adamw.h"
#include "kernels/bias.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/logit_noise.h"
#include "kernels/logprob.h"
#include "kernels/rmsnorm.h"
#include "kernels/rope.h"
#include "kernels/swiglu.h"
#include "kernels/topk.h"

namespace minirl::kernels {
template __global__ void run_rows(RmsNormForward<float>, Index);
template __global__ void run_rows(RmsNormBackward<float>, Index);
template __global__ void run_rows(RmsNormWeightGrad<float>, Index);
template __global__ void run_rows(AddBias<float>, Index);
template __global__ void run_rows(BiasGrad<float>, Index);
template __global__ void run_rows(Rope<float>, Index);
template __global__ void run_rows(SwigluForward<float>, Index);
template __global__ void run_rows(SwigluBackward<float>, Index);
template __global__ void run_rows(Add<float>, Index);
template __global__ void run_rows(AddInto<float>, Index);
template __global__ void run_rows(EmbeddingForward<float>, Index);
template __global__ void run_rows(EmbeddingBackward<float>, Index);
template __global__ void run_rows(LogProb<float>, Index);
template __global__ void run_rows(LogProbBackward<float>, Index);
template __global__ void run_rows(SampleToken<float>, Index);
template __global__ void run_rows(LogitNoise<float>, Index);
template __global__ void run_rows(TopK<float>, Index);
template __global__ void run_rows(GatherLogProb<float>, Index);
template __global__ void run_rows(AdamW, Index);
template __global__ void run_rows(AdamWStored<std::uint16_t, std::uint16_t>, Index);
template __global__ void run_rows(SquaredNorm, Index);
}  // namespace minirl::kernels
