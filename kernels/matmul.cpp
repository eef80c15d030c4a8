// minirl kernels/matmul.cpp -- blocks of the three products: packing and register tiles.
#include "kernels/matmul_block.h"
#include "kernels/reference/matmul.h"
#include "kernels/simd.h"

namespace minirl::kernels {
namespace MINIRL_ISA {
namespace {

enum class Start : unsigned char { store, add, chain };  // of one chunk: C = acc | C = C + acc | acc = C first

// Most rows and vectors of a register tile: accumulators, one row of B and one broadcast fit the register file.
#if defined(MINIRL_ISA_avx512)
constexpr int kTileRows = 6, kTileVecs = 4;  // 24 + 4 + 1 of 32
#else
constexpr int kTileRows = 6, kTileVecs = 2;  // 12 + 2 + 1 of 16
#endif
// Few rows give few independent chains, so narrow tiles are made wider to hide the latency of fma.
constexpr int tile_vecs(int rows) { return rows == 1 ? 8 : rows == 2 ? 2 * kTileVecs : kTileVecs; }
static_assert(kPanel % (kTileVecs * kVecLanes) == 0);

struct Tile {
  const float* a;      // (Rows, depth), rows kRowStride apart
  const float* b;      // panels
  Index panel_stride;  // floats from a panel to the next
  Index depth;
  float* c;
  Index c_stride;
  Index last_lanes;    // valid lanes of the last vector
  Start start;
  const char* ahead;   // what the next tiles of columns read, brought near bit by bit:
  Index ahead_step;    // so many bytes a step of the depth
  const float* next_c; // C of the next tile
};

// The register tile: every element of C is one chain over the depth, whatever the tile's shape.
template <int Rows, int Vecs>
void run_tile(const Tile& t) {
  Vec acc[Rows][Vecs];
  const bool partial = t.last_lanes < kVecLanes;
  float* const c = t.c;
  const Index c_stride = t.c_stride;
  if (t.start == Start::chain) {
    MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
      MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) {
        const float* p = c + i * c_stride + v * kVecLanes;
        acc[i][v] = partial && v == Vecs - 1 ? load_first(p, t.last_lanes) : load(p);
        __builtin_prefetch(t.next_c + i * c_stride + v * kVecLanes, 1, 3);
      }
    }
  } else {
    MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
      MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) {
        acc[i][v] = zero();
        __builtin_prefetch(c + i * c_stride + v * kVecLanes, 1, 3);
      }
    }
  }
  const float* a = t.a;
  const float* b = t.b;
  const Index panel_stride = t.panel_stride;
  const char* ahead = t.ahead;
  for (Index k = 0; k < t.depth; ++k) {
    if constexpr (Rows >= kTileRows - 1) {  // lower tiles wait for memory anyway, and in order
      __builtin_prefetch(ahead, 0, 2);
      ahead += t.ahead_step;
    }
    Vec row[Vecs];
    MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) {
      row[v] = load(b + (v * kVecLanes) / kPanel * panel_stride + (v * kVecLanes) % kPanel);
    }
    MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Vec x = broadcast(a[i * kRowStride]);
      MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) { acc[i][v] = fma(x, row[v], acc[i][v]); }
    }
    ++a;
    b += kPanel;
  }
  MINIRL_UNROLL for (int i = 0; i < Rows; ++i) {
    MINIRL_UNROLL for (int v = 0; v < Vecs; ++v) {
      float* p = c + i * c_stride + v * kVecLanes;
      if (partial && v == Vecs - 1) {
        store_first(p, t.start == Start::add ? add(load_first(p, t.last_lanes), acc[i][v]) : acc[i][v], t.last_lanes);
      } else {
        store(p, t.start == Start::add ? add(load(p), acc[i][v]) : acc[i][v]);
      }
    }
  }
}

using TileFn = void (*)(const Tile&);
template <int Rows> constexpr TileFn tile_of(int log2_vecs) {
  switch (log2_vecs) {
    case 0: return &run_tile<Rows, 1>;
    case 1: return &run_tile<Rows, 2>;
    case 2: return tile_vecs(Rows) >= 4 ? &run_tile<Rows, tile_vecs(Rows) >= 4 ? 4 : 1> : nullptr;
    default: return tile_vecs(Rows) >= 8 ? &run_tile<Rows, tile_vecs(Rows) >= 8 ? 8 : 1> : nullptr;
  }
}
#define MINIRL_TILE_ROW(rows) {tile_of<rows>(0), tile_of<rows>(1), tile_of<rows>(2), tile_of<rows>(3)}
constexpr TileFn kTiles[kTileRows + 1][4] = {
    {}, MINIRL_TILE_ROW(1), MINIRL_TILE_ROW(2), MINIRL_TILE_ROW(3), MINIRL_TILE_ROW(4), MINIRL_TILE_ROW(5), MINIRL_TILE_ROW(6)};
#undef MINIRL_TILE_ROW

// One chunk of depth of a block of C: column tiles outside, so that a tile of B stays near while rows pass.
void run_chunk(const float* a, const float* b, Index rows, Index columns, Index depth, float* c, Index c_stride, Start start) {
  const Index tiles = (rows + kTileRows - 1) / kTileRows;  // of nearly equal height
  const int tallest = static_cast<int>((rows + tiles - 1) / tiles);
  Index column = 0;
  while (column < columns) {
    const Index wanted = (columns - column + kVecLanes - 1) / kVecLanes;
    int log2_vecs = 3;
    while ((1 << log2_vecs) > wanted || (1 << log2_vecs) > tile_vecs(tallest)) { --log2_vecs; }
    const Index width = (Index{1} << log2_vecs) * kVecLanes;
    const Index left = columns - column - (width - kVecLanes);
    Tile t{a, b + column / kPanel * depth * kPanel + column % kPanel, depth * kPanel, depth, c + column, c_stride,
           left < kVecLanes ? left : kVecLanes, start, nullptr, 0, nullptr};
    const Index next_column = column + width < columns ? column + width : column;
    const auto* next = reinterpret_cast<const char*>(b + next_column / kPanel * depth * kPanel);
    t.ahead_step = (kPanel * static_cast<Index>(sizeof(float)) + tiles - 1) / tiles;
    for (Index i = 0; i < tiles; ++i) {
      t.ahead = next + i * depth * t.ahead_step;
      const Index begin = rows * i / tiles, end = rows * (i + 1) / tiles;
      t.a = a + begin * kRowStride;
      t.c = c + column + begin * c_stride;
      t.next_c = i + 1 < tiles ? c + column + end * c_stride : c + next_column;
      kTiles[end - begin][log2_vecs](t);
    }
    column += width;
  }
}

void copy_rows(const float* src, Index src_stride, Index rows, Index columns, float* dst, Index dst_stride) {
  const Index whole = columns - columns % kVecLanes;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < whole; j += kVecLanes) { store(dst + i * dst_stride + j, load(src + i * src_stride + j)); }
    for (Index j = whole; j < columns; ++j) { dst[i * dst_stride + j] = src[i * src_stride + j]; }
  }
}

void pack_panels(const float* b, Index stride, bool transposed, Index depth, Index columns, float* panels) {
  for (Index first = 0; first < columns; first += kPanel, panels += depth * kPanel) {
    const Index width = columns - first < kPanel ? columns - first : kPanel;
    if (width < kPanel) {
      for (Index i = 0; i < depth * kPanel; ++i) { panels[i] = 0.0F; }
    }
    if (transposed) {
      transpose(b + first * stride, stride, width, depth, panels, kPanel);
    } else {
      copy_rows(b + first, stride, depth, width, panels, kPanel);
    }
  }
}

void matmul_block(const BlockJob& job) {
  float* const a_block = job.scratch;
  float* const b_block = job.scratch + kBlockRows * kRowStride;
  for (Index first = 0; first < job.depth; first += kBlockDepth) {
    const Index depth = job.depth - first < kBlockDepth ? job.depth - first : kBlockDepth;
    if (job.a_transposed) {
      transpose(job.a + first * job.a_stride, job.a_stride, depth, job.rows, a_block, kRowStride);
    } else {
      copy_rows(job.a + first, job.a_stride, job.rows, depth, a_block, kRowStride);
    }
    const float* b = b_block;
    if (job.b_panels > 0) {
      b = job.b + (first * job.b_panels + depth * job.b_panel) * kPanel;  // earlier chunks are full ones
    } else {
      pack_panels(job.b + first * job.b_stride, job.b_stride, false, depth, job.columns, b_block);
    }
    const Start start = job.meet == Meet::chain                           ? Start::chain
                        : job.meet == Meet::store_then_add && first == 0 ? Start::store
                                                                          : Start::add;
    run_chunk(a_block, b, job.rows, job.columns, depth, job.c, job.c_stride, start);
  }
}

}  // namespace
}  // namespace MINIRL_ISA

MINIRL_KERNEL_IMPL(matmul_block_f32, matmul_block)
MINIRL_KERNEL_IMPL(pack_panels_f32, pack_panels)
MINIRL_KERNEL_IMPL(matmul_forward_f64, reference::matmul_forward<double>)
MINIRL_KERNEL_IMPL(matmul_input_grad_f64, reference::matmul_input_grad<double>)
MINIRL_KERNEL_IMPL(matmul_weight_grad_f64, reference::matmul_weight_grad<double>)

}  // namespace minirl::kernels
