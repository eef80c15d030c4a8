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

void read_loop(const float* from, Index count, float* result) {
  constexpr int kSums = 8;
  Vec sum[kSums];
  MINIRL_UNROLL for (int i = 0; i < kSums; ++i) { sum[i] = zero(); }
  for (Index at = 0; at < count; at += kSums * kVecLanes) {
    MINIRL_UNROLL for (int i = 0; i < kSums; ++i) { sum[i] = add(sum[i], load(from + at + i * kVecLanes)); }
  }
  MINIRL_UNROLL for (int i = 1; i < kSums; ++i) { sum[0] = add(sum[0], sum[i]); }
  for (int i = 0; i < 16; ++i) { result[i] = 0.0F; }
  store(result, sum[0]);
}

}  // namespace
}  // namespace MINIRL_ISA

MINIRL_KERNEL_IMPL(fma_loop_f32, fma_loop)
MINIRL_KERNEL_IMPL(read_loop_f32, read_loop)

}  // namespace minirl::kernels
