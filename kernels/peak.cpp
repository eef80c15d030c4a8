#include "kernels/peak.h"

#include "kernels/simd.h"

namespace minirl::kernels {
namespace MINIRL_ISA {
namespace {

void fma_loop(Index rounds, float* result, Index* lanes) {
  Vec acc[kPeakChains];
  MINIRL_UNROLL for (int i = 0; i < kPeakChains; ++i) { acc[i] = broadcast(result[i]); }
  const Vec a = broadcast(result[0]), b = broadcast(result[1]);
  for (Index r = 0; r < rounds; ++r) {
    MINIRL_UNROLL for (int i = 0; i < kPeakChains; ++i) { acc[i] = fma(a, b, acc[i]); }
  }
  MINIRL_UNROLL for (int i = 0; i < kPeakChains; ++i) { store(result + i * kVecLanes, acc[i]); }
  *lanes = kVecLanes;
}

}  // namespace
}  // namespace MINIRL_ISA

MINIRL_KERNEL_IMPL(fma_loop_f32, fma_loop)

}  // namespace minirl::kernels
