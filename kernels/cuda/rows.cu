// Every row program as a CUDA kernel, found by the name of its type.
#include "kernels/cuda/rows.cuh"

#include <cstring>
#include <typeinfo>

#include "kernels/adamw.h"
#include "kernels/bias.h"
#include "kernels/cuda/kernels.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/logit_noise.h"
#include "kernels/logprob.h"
#include "kernels/rmsnorm.h"
#include "kernels/rope.h"
#include "kernels/swiglu.h"
#include "kernels/topk.h"

namespace minirl::kernels::cuda {
namespace {

struct Entry {
  const char* name;
  void (*run)(const void* program, Index rows, cudaStream_t stream);
};

/// A warp a row.
template <class Program>
Entry warps() {
  return {typeid(Program).name(), [](const void* program, Index rows, cudaStream_t stream) {
            launch(warp_rows<Program>, {.grid = blocks(rows, kRowsPerBlock), .block = dim3(kLanes, kRowsPerBlock), .stream = stream},
                   *static_cast<const Program*>(program), rows);
          }};
}

/// A block a row: programs over the vocabulary.
template <class Program>
Entry long_rows() {
  return {typeid(Program).name(), [](const void* program, Index rows, cudaStream_t stream) {
            launch(block_rows<Program>, {.grid = blocks(rows, 1), .block = kLongRowThreads, .stream = stream},
                   *static_cast<const Program*>(program));
          }};
}

const Entry kPrograms[] = {
    warps<RmsNormForward<float>>(),
    warps<RmsNormBackward<float>>(),
    warps<RmsNormWeightGrad<float>>(),
    warps<AddBias<float>>(),
    warps<BiasGrad<float>>(),
    warps<Rope<float>>(),
    warps<SwigluForward<float>>(),
    warps<SwigluBackward<float>>(),
    warps<Add<float>>(),
    warps<AddInto<float>>(),
    warps<EmbeddingForward<float>>(),
    warps<EmbeddingBackward<float>>(),
    warps<GatherLogProb<float>>(),
    warps<AdamW>(),
    warps<AdamWStored<std::uint16_t, std::uint16_t>>(),
    warps<AdamWStored<std::uint16_t, float>>(),
    warps<AdamWStored<float, std::uint16_t>>(),
    warps<SquaredNorm>(),
    long_rows<LogProb<float>>(),
    long_rows<LogProbBackward<float>>(),
    long_rows<SampleToken<float>>(),
    long_rows<LogitNoise<float>>(),
    long_rows<TopK<float>>(),
};

}  // namespace

#if defined(__CUDACC__)
cudaError_t any_kernel_attributes(cudaFuncAttributes* attributes) { return cudaFuncGetAttributes(attributes, warp_rows<Add<float>>); }
#endif

void run_rows(const char* name, const void* program, Index rows, cudaStream_t stream) {
  if (rows == 0) { return; }
  for (const Entry& entry : kPrograms) {
    if (std::strcmp(entry.name, name) == 0) { return entry.run(program, rows, stream); }
  }
  throw std::runtime_error(std::string("row program ") + name + " is not compiled for the device");
}

}  // namespace minirl::kernels::cuda
