// minirl kernels/simd.h -- a vector of floats, as wide as the instruction set that this file is compiled for.
// Every operation is one correctly rounded IEEE operation a lane, so the width changes no bit: a kernel
// that gives each output element its own lane computes what a plain loop computes.
// For kernel files only (kernels/*.cpp); everything lives in the namespace of the instruction set.
#pragma once
#include "kernels/dispatch.h"

#if defined(MINIRL_ISA_avx512) || defined(MINIRL_ISA_avx2)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12's own headers start from registers that are undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif

#if defined(__clang__)
#define MINIRL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MINIRL_UNROLL _Pragma("GCC unroll 32")
#endif
#define MINIRL_INLINE [[gnu::always_inline]] inline

namespace minirl::kernels::MINIRL_ISA {

// load, store        kVecLanes consecutive floats; no alignment is required
// load_first         the first `count` (0..kVecLanes) floats, zeros in the other lanes, which are not read
// store_first        only the first `count` lanes
// fma(a, b, c)       a * b + c, rounded once
// tree_sum_32        p[0..31] by the fixed tree: lane l takes lane l + 16, then l + 8, 4, 2, 1
// max_32             the largest of p[0..31]; exact, so its order is free

#if defined(MINIRL_ISA_avx512)

inline constexpr Index kVecLanes = 16;
struct Vec {
  __m512 v;
};
MINIRL_INLINE __mmask16 first_lanes(Index count) { return static_cast<__mmask16>((1U << count) - 1U); }
MINIRL_INLINE Vec zero() { return {_mm512_setzero_ps()}; }
MINIRL_INLINE Vec broadcast(float x) { return {_mm512_set1_ps(x)}; }
MINIRL_INLINE Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
MINIRL_INLINE void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }
MINIRL_INLINE Vec load_first(const float* p, Index count) { return {_mm512_maskz_loadu_ps(first_lanes(count), p)}; }
MINIRL_INLINE void store_first(float* p, Vec a, Index count) { _mm512_mask_storeu_ps(p, first_lanes(count), a.v); }
MINIRL_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
MINIRL_INLINE Vec add(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
MINIRL_INLINE Vec sub(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
MINIRL_INLINE Vec mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
MINIRL_INLINE float tree_sum_32(const float* p) {
  const __m512 sixteen = _mm512_add_ps(_mm512_loadu_ps(p), _mm512_loadu_ps(p + 16));
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(sixteen), _mm512_extractf32x8_ps(sixteen, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
MINIRL_INLINE float max_32(const float* p) {
  const __m512 sixteen = _mm512_max_ps(_mm512_loadu_ps(p), _mm512_loadu_ps(p + 16));
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(sixteen), _mm512_extractf32x8_ps(sixteen, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/// dst[j * dst_stride + i] = src[i * src_stride + j] for i, j in [0, kVecLanes).
MINIRL_INLINE void transpose_square(const float* src, Index src_stride, float* dst, Index dst_stride) {
  // Four rounds; round r exchanges the off-diagonal blocks of 2^r x 2^r elements.
  __m512 a[16], b[16];
  MINIRL_UNROLL for (int i = 0; i < 16; ++i) { a[i] = _mm512_loadu_ps(src + i * src_stride); }
  MINIRL_UNROLL for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
  MINIRL_UNROLL for (int i = 0; i < 16; i += 4) {  // a[i + c]: column c of each group of four, rows i..i+3
    const auto pair = [&](int x, int y, bool high) {
      const __m512d p = _mm512_castps_pd(b[i + x]), q = _mm512_castps_pd(b[i + y]);
      return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(p, q) : _mm512_unpacklo_pd(p, q));
    };
    a[i] = pair(0, 2, false);
    a[i + 1] = pair(0, 2, true);
    a[i + 2] = pair(1, 3, false);
    a[i + 3] = pair(1, 3, true);
  }
  MINIRL_UNROLL for (int c = 0; c < 4; ++c) {  // 128-bit quarters: gather those of rows 0-7 and of rows 8-15
    b[c] = _mm512_shuffle_f32x4(a[c], a[4 + c], 0x88);
    b[4 + c] = _mm512_shuffle_f32x4(a[c], a[4 + c], 0xdd);
    b[8 + c] = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0x88);
    b[12 + c] = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0xdd);
  }
  MINIRL_UNROLL for (int c = 0; c < 4; ++c) {
    _mm512_storeu_ps(dst + c * dst_stride, _mm512_shuffle_f32x4(b[c], b[8 + c], 0x88));
    _mm512_storeu_ps(dst + (4 + c) * dst_stride, _mm512_shuffle_f32x4(b[4 + c], b[12 + c], 0x88));
    _mm512_storeu_ps(dst + (8 + c) * dst_stride, _mm512_shuffle_f32x4(b[c], b[8 + c], 0xdd));
    _mm512_storeu_ps(dst + (12 + c) * dst_stride, _mm512_shuffle_f32x4(b[4 + c], b[12 + c], 0xdd));
  }
}

#elif defined(MINIRL_ISA_avx2)

inline constexpr Index kVecLanes = 8;
struct Vec {
  __m256 v;
};
MINIRL_INLINE __m256i first_lanes(Index count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
MINIRL_INLINE Vec zero() { return {_mm256_setzero_ps()}; }
MINIRL_INLINE Vec broadcast(float x) { return {_mm256_set1_ps(x)}; }
MINIRL_INLINE Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
MINIRL_INLINE void store(float* p, Vec a) { _mm256_storeu_ps(p, a.v); }
MINIRL_INLINE Vec load_first(const float* p, Index count) { return {_mm256_maskload_ps(p, first_lanes(count))}; }
MINIRL_INLINE void store_first(float* p, Vec a, Index count) { _mm256_maskstore_ps(p, first_lanes(count), a.v); }
MINIRL_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
MINIRL_INLINE Vec add(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
MINIRL_INLINE Vec sub(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
MINIRL_INLINE Vec mul(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
MINIRL_INLINE float tree_sum_32(const float* p) {
  const __m256 low = _mm256_add_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 16));
  const __m256 high = _mm256_add_ps(_mm256_loadu_ps(p + 8), _mm256_loadu_ps(p + 24));
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
MINIRL_INLINE float max_32(const float* p) {
  const __m256 low = _mm256_max_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 16));
  const __m256 high = _mm256_max_ps(_mm256_loadu_ps(p + 8), _mm256_loadu_ps(p + 24));
  const __m256 eight = _mm256_max_ps(low, high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/// dst[j * dst_stride + i] = src[i * src_stride + j] for i, j in [0, kVecLanes).
MINIRL_INLINE void transpose_square(const float* src, Index src_stride, float* dst, Index dst_stride) {
  __m256 a[8], b[8];
  MINIRL_UNROLL for (int i = 0; i < 8; ++i) { a[i] = _mm256_loadu_ps(src + i * src_stride); }
  MINIRL_UNROLL for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
  MINIRL_UNROLL for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
    a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
    a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
    a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
  }
  MINIRL_UNROLL for (int c = 0; c < 4; ++c) {
    _mm256_storeu_ps(dst + c * dst_stride, _mm256_permute2f128_ps(a[c], a[4 + c], 0x20));
    _mm256_storeu_ps(dst + (4 + c) * dst_stride, _mm256_permute2f128_ps(a[c], a[4 + c], 0x31));
  }
}

#else

// Without a known instruction set: four lanes in an array. Compilers turn them into NEON on aarch64;
// where the hardware has no fma, __builtin_fmaf calls the C library's, which rounds once all the same.
inline constexpr Index kVecLanes = 4;
struct Vec {
  float v[4];
};
MINIRL_INLINE Vec zero() { return {{0.0F, 0.0F, 0.0F, 0.0F}}; }
MINIRL_INLINE Vec broadcast(float x) { return {{x, x, x, x}}; }
MINIRL_INLINE Vec load(const float* p) { return {{p[0], p[1], p[2], p[3]}}; }
MINIRL_INLINE void store(float* p, Vec a) {
  MINIRL_UNROLL for (int i = 0; i < 4; ++i) { p[i] = a.v[i]; }
}
MINIRL_INLINE Vec load_first(const float* p, Index count) {
  Vec a = zero();
  for (Index i = 0; i < count; ++i) { a.v[i] = p[i]; }
  return a;
}
MINIRL_INLINE void store_first(float* p, Vec a, Index count) {
  for (Index i = 0; i < count; ++i) { p[i] = a.v[i]; }
}
MINIRL_INLINE Vec fma(Vec a, Vec b, Vec c) {
  MINIRL_UNROLL for (int i = 0; i < 4; ++i) { c.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]); }
  return c;
}
MINIRL_INLINE Vec add(Vec a, Vec b) {
  MINIRL_UNROLL for (int i = 0; i < 4; ++i) { a.v[i] = a.v[i] + b.v[i]; }
  return a;
}
MINIRL_INLINE Vec sub(Vec a, Vec b) {
  MINIRL_UNROLL for (int i = 0; i < 4; ++i) { a.v[i] = a.v[i] - b.v[i]; }
  return a;
}
MINIRL_INLINE Vec mul(Vec a, Vec b) {
  MINIRL_UNROLL for (int i = 0; i < 4; ++i) { a.v[i] = a.v[i] * b.v[i]; }
  return a;
}
MINIRL_INLINE float tree_sum_32(const float* p) {
  float lane[32];
  for (int i = 0; i < 32; ++i) { lane[i] = p[i]; }
  for (int h = 16; h > 0; h /= 2) {
    for (int i = 0; i < h; ++i) { lane[i] += lane[i + h]; }
  }
  return lane[0];
}
MINIRL_INLINE float max_32(const float* p) {
  float most = p[0];
  for (int i = 1; i < 32; ++i) { most = most < p[i] ? p[i] : most; }
  return most;
}
MINIRL_INLINE void transpose_square(const float* src, Index src_stride, float* dst, Index dst_stride) {
  for (Index i = 0; i < kVecLanes; ++i) {
    for (Index j = 0; j < kVecLanes; ++j) { dst[j * dst_stride + i] = src[i * src_stride + j]; }
  }
}

#endif

/// dst[j * dst_stride + i] = src[i * src_stride + j] for i < rows, j < columns.
inline void transpose(const float* src, Index src_stride, Index rows, Index columns, float* dst, Index dst_stride) {
  const Index whole_rows = rows - rows % kVecLanes, whole_columns = columns - columns % kVecLanes;
  for (Index i = 0; i < whole_rows; i += kVecLanes) {
    for (Index j = 0; j < whole_columns; j += kVecLanes) {
      transpose_square(src + i * src_stride + j, src_stride, dst + j * dst_stride + i, dst_stride);
    }
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index j = i < whole_rows ? whole_columns : 0; j < columns; ++j) { dst[j * dst_stride + i] = src[i * src_stride + j]; }
  }
}

}  // namespace minirl::kernels::MINIRL_ISA
