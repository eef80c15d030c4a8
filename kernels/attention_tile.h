// minirl kernels/attention_tile.h -- the small products inside attention, on register tiles.
// For kernel files only. C (rows, columns) = chain(C or 0; A, B) over the depth, one lane an element.
#pragma once
#include "kernels/attention_block.h"
#include "kernels/simd.h"

namespace minirl::kernels::MINIRL_ISA {

struct Operand {
  const float* at;
  Index row, depth;  // strides of A's element (row, depth)
};

#if defined(MINIRL_ISA_avx512)
inline constexpr int kProductVecs = 4;
#else
inline constexpr int kProductVecs = 2;
#endif
inline constexpr int kProductRows = 6;

template <int Rows, int Vecs>
void product_tile(Operand a, const float* b, Index b_stride, Index depth, float* c, Index c_stride, Index last_lanes, bool from_c) {
  Vec acc[Rows][Vecs];
  const bool partial = last_lanes < kVecLanes;
  MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
    MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) {
      const float* p = c + i * c_stride + v * kVecLanes;
      acc[i][v] = !from_c ? zero() : partial && v == Vecs - 1 ? load_first(p, last_lanes) : load(p);
    }
  }
  const float* x = a.at;
  for (Index k = 0; k < depth; ++k) {
    Vec row[Vecs];
    MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) {
      row[v] = partial && v == Vecs - 1 ? load_first(b + v * kVecLanes, last_lanes) : load(b + v * kVecLanes);
    }
    MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Vec scalar = broadcast(x[i * a.row]);
      MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) { acc[i][v] = fma(scalar, row[v], acc[i][v]); }
    }
    x += a.depth;
    b += b_stride;
  }
  MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
    MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) {
      float* p = c + i * c_stride + v * kVecLanes;
      if (partial && v == Vecs - 1) { store_first(p, acc[i][v], last_lanes); } else { store(p, acc[i][v]); }
    }
  }
}

template <int Vecs>
void product_rows(Index rows, Operand a, const float* b, Index b_stride, Index depth, float* c, Index c_stride, Index last_lanes, bool from_c) {
  switch (rows) {
    case 1: return product_tile<1, Vecs>(a, b, b_stride, depth, c, c_stride, last_lanes, from_c);
    case 2: return product_tile<2, Vecs>(a, b, b_stride, depth, c, c_stride, last_lanes, from_c);
    case 3: return product_tile<3, Vecs>(a, b, b_stride, depth, c, c_stride, last_lanes, from_c);
    case 4: return product_tile<4, Vecs>(a, b, b_stride, depth, c, c_stride, last_lanes, from_c);
    case 5: return product_tile<5, Vecs>(a, b, b_stride, depth, c, c_stride, last_lanes, from_c);
    default: return product_tile<6, Vecs>(a, b, b_stride, depth, c, c_stride, last_lanes, from_c);
  }
}

/// At most kProductRows rows; any number of columns.
inline void product_band(Index rows, Index columns, Index depth, Operand a, const float* b, Index b_stride, float* c, Index c_stride, bool from_c) {
  for (Index column = 0; column < columns;) {
    const Index wanted = (columns - column + kVecLanes - 1) / kVecLanes;
    const Index vecs = wanted >= kProductVecs ? kProductVecs : wanted >= 2 ? 2 : 1;
    const Index left = columns - column - (vecs - 1) * kVecLanes, last_lanes = left < kVecLanes ? left : kVecLanes;
    const float* bc = b + column;
    float* cc = c + column;
    switch (vecs) {
      case 1: product_rows<1>(rows, a, bc, b_stride, depth, cc, c_stride, last_lanes, from_c); break;
      case 2: product_rows<2>(rows, a, bc, b_stride, depth, cc, c_stride, last_lanes, from_c); break;
      default: product_rows<kProductVecs>(rows, a, bc, b_stride, depth, cc, c_stride, last_lanes, from_c); break;
    }
    column += vecs * kVecLanes;
  }
}

inline void product(Index rows, Index columns, Index depth, Operand a, const float* b, Index b_stride, float* c, Index c_stride, bool from_c) {
  const Index bands = (rows + kProductRows - 1) / kProductRows;  // of nearly equal height
  for (Index i = 0; i < bands; ++i) {
    const Index begin = rows * i / bands, end = rows * (i + 1) / bands;
    product_band(end - begin, columns, depth, {a.at + begin * a.row, a.row, a.depth}, b, b_stride, c + begin * c_stride, c_stride, from_c);
  }
}

/// Scores of a few queries against neighbouring key tiles at once, (Tiles, Rows, kKeyTile). One tile of wide vectors
/// alone gives too few independent chains to hide the latency of fma.
inline constexpr Index kTilesAtOnce = kVecLanes >= 16 ? 2 : 1;
inline constexpr Index kFewQueries = 2;
static_assert(kFewQueries * kTilesAtOnce <= 4);  // forward_scratch

template <int Rows, int Tiles>
void score_tiles(const float* q, Index depth, const float* const* keys, float* scores) {
  constexpr int kVecs = static_cast<int>(kKeyTile / kVecLanes);
  Vec acc[Rows][Tiles * kVecs];
  MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
    MINIRL_UNROLL for (int v = 0; v < Tiles * kVecs; ++v) { acc[i][v] = zero(); }
  }
  for (Index k = 0; k < depth; ++k) {
    Vec x[Rows];
    MINIRL_UNROLL for (int i = 0; i < Rows; ++i) { x[i] = broadcast(q[i * depth + k]); }
    MINIRL_UNROLL for (int v = 0; v < Tiles * kVecs; ++v) {
      const Vec key = load(keys[v / kVecs] + k * kKeyTile + v % kVecs * kVecLanes);
      MINIRL_UNROLL for (int i = 0; i < Rows; ++i) { acc[i][v] = fma(x[i], key, acc[i][v]); }
    }
  }
  MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
    MINIRL_UNROLL for (int v = 0; v < Tiles * kVecs; ++v) {
      store(scores + (v / kVecs * Rows + i) * kKeyTile + v % kVecs * kVecLanes, acc[i][v]);
    }
  }
}

/// C (queries, columns) = chain(C; A, B) where query i's depth is present(i), which ascends: absent keys are not touched.
template <class Present>
inline void product_present(Index queries, Index columns, Present present, const float* a, const float* b, Index b_stride, float* c) {
  if (present(0) == kKeyTile) { return product(queries, columns, kKeyTile, {a, kKeyTile, 1}, b, b_stride, c, columns, true); }
  const Index bands = (queries + kProductRows - 1) / kProductRows;
  for (Index band = 0; band < bands; ++band) {
    const Index begin = queries * band / bands, end = queries * (band + 1) / bands;
    const Index common = present(begin);
    product_band(end - begin, columns, common, {a + begin * kKeyTile, kKeyTile, 1}, b, b_stride, c + begin * columns, columns, true);
    for (Index i = begin; i < end; ++i) {
      const Index more = present(i) - common;
      if (more > 0) {
        product_band(1, columns, more, {a + i * kKeyTile + common, kKeyTile, 1}, b + common * b_stride, b_stride, c + i * columns, columns, true);
      }
    }
  }
}

}  // namespace minirl::kernels::MINIRL_ISA
