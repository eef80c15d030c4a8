// minirl kernels/matmul_block.h -- what the host side and the kernels of a product agree on: panels, blocks, jobs.
//
// All three products are C (rows, columns) with a depth to sum over. A thread works on one block of C at
// a time, chunk by chunk of the depth: the rows' operand A is copied to a buffer (rows, depth), the
// columns' operand B lies in panels (depth, kPanel), and register tiles of C run over them.
#pragma once
#include "kernels/dispatch.h"

namespace minirl::kernels {

inline constexpr Index kPanel = 64;          // columns of a panel of B; a panel holds one chunk of depth
inline constexpr Index kBlockDepth = 256;    // depth of a block; = kDepthChunk, and the cache block of (mm.3)
inline constexpr Index kBlockRows = 192;     // most rows of a block of C
inline constexpr Index kBlockColumns = 256;  // most columns of a block of C that packs its own B ...
inline constexpr Index kWideColumns = 1024;  // ... and of one whose B is in panels: A is copied less often
inline constexpr Index kRowStride = kBlockDepth + 16;  // of the buffer of A; the excess spreads rows over cache sets

/// Depth of B that is packed at once, for all blocks, where B does not come in panels.
inline constexpr Index kSlabDepth = 4 * kBlockDepth;

/// Floats that a thread's buffer needs: a block of A and a block of B.
inline constexpr Index kScratchFloats = kBlockRows * kRowStride + kBlockColumns * kBlockDepth;

/// How a chunk's chain meets C.
enum class Meet : unsigned char {
  store_then_add,  // (mm.1) the first chunk is stored, the others are added
  add,             // (mm.2) every chunk is added
  chain,           // (mm.3) the chain starts from C
};

/// One block of C (rows <= kBlockRows, columns <= kBlockColumns or kWideColumns), all of the depth.
struct BlockJob {
  Index rows, columns, depth;
  const float* a;    // row-major (rows, depth), or (depth, rows) if a_transposed
  Index a_stride;
  bool a_transposed;
  const float* b;    // row-major (depth, columns); or, if b_panels > 0, the whole matrix in panels
  Index b_stride;    // of row-major b
  Index b_panels;    // panels a chunk
  Index b_panel;     // this block's first
  float* c;
  Index c_stride;
  Meet meet;
  float* scratch;    // kScratchFloats
};

/// Computes one block of C.
MINIRL_KERNEL(matmul_block_f32, void(const BlockJob&));

/// Packs B (depth, columns), depth <= kBlockDepth, into panels; b is row-major, or (columns, depth) if transposed.
/// Columns beyond the last are zeros.
MINIRL_KERNEL(pack_panels_f32, void(const float* b, Index stride, bool transposed, Index depth, Index columns, float* panels));

/// The plain-loop products in double, same orders; arguments as for reference/matmul.h, for C's rows [begin, end).
MINIRL_KERNEL(matmul_forward_f64, void(const double* x, const double* w, double* y, Index begin, Index end, Index n, Index k));
MINIRL_KERNEL(matmul_input_grad_f64, void(const double* dy, const double* w, double* dx, Index begin, Index end, Index n, Index k));
MINIRL_KERNEL(matmul_weight_grad_f64, void(const double* dy, const double* x, double* dw, Index begin, Index end, Index m, Index n, Index k));

}  // namespace minirl::kernels
