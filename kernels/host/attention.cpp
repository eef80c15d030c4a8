#include "kernels/attention.h"

#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "kernels/backend.h"
#include "kernels/host/scratch.h"

namespace minirl::kernels {
namespace {

// Below this many fused multiply-adds, waking a thread costs more than it saves.
constexpr Index kSmallAttention = 128 * 1024;

bool on_device(const Exec& exec) { return exec.device.kind != DeviceKind::cpu; }

void check(const char* what, const Tensor& t, Shape shape, DType dtype) {
  MINIRL_CHECK(t.defined() && t.shape() == shape && t.dtype() == dtype, "attention {}: {} {}, expected {} {}", what, t.shape().str(),
               name(t.dtype()), shape.str(), name(dtype));
}

/// Checks the pool and the runs against `rows` rows of input.
void check_input(const AttentionDims& dims, Index rows, std::span<const QueryRun> runs, const KvPool& pool, DType dtype) {
  MINIRL_CHECK(dtype == DType::f32 || dtype == DType::f64, "attention is f32 or f64, not {}", name(dtype));
  MINIRL_CHECK(dims.kv_heads > 0 && dims.head_dim > 0 && dims.q_heads > 0 && dims.q_heads % dims.kv_heads == 0,
               "{} query heads on {} kv heads of width {}", dims.q_heads, dims.kv_heads, dims.head_dim);
  const Index tiles = pool.k.shape()[0];
  check("pool k", pool.k, {tiles, dims.kv_heads, dims.head_dim, kKeyTile}, dtype);
  check("pool v", pool.v, {tiles, dims.kv_heads, kKeyTile, dims.head_dim}, dtype);
  for (const QueryRun& run : runs) {
    MINIRL_CHECK(run.first_row >= 0 && run.rows >= 0 && run.first_position >= 0 && run.first_row + run.rows <= rows,
                 "run of rows [{}, +{}) at position {} does not fit in {} rows", run.first_row, run.rows, run.first_position, rows);
    const Index used = (run.first_position + run.rows + kKeyTile - 1) / kKeyTile;
    for (Index t = 0; run.rows > 0 && t < used; ++t) {
      MINIRL_CHECK(run.tiles[t] >= 0 && run.tiles[t] < tiles, "tile {} of a run is {}, the pool has {}", t, run.tiles[t], tiles);
    }
  }
}

/// Fused multiply-adds of one product (scores, say) of a run and one query head.
Index run_cost(const QueryRun& run, Index head_dim) { return run.rows * (run.first_position + run.rows / 2 + 1) * head_dim; }

template <class T>
void store_tiles(const Exec& exec, const AttentionDims& dims, const T* k, const T* v, std::span<const QueryRun> runs, KvPool& pool) {
  const Index d = dims.head_dim, stride = dims.kv_heads * d;
  T *pool_k = pool.k.data<T>(), *pool_v = pool.v.data<T>();
  std::vector<QueryRun> pieces;  // of one tile each
  Index elements = 0;
  for (const QueryRun& run : runs) {
    elements += run.rows * stride;
    for (Index row = 0; row < run.rows;) {
      const Index position = run.first_position + row, count = std::min(kKeyTile - position % kKeyTile, run.rows - row);
      pieces.push_back({run.first_row + row, count, position, run.tiles});
      row += count;
    }
  }
  parallel_items(elements < kSmallAttention ? 1 : exec.threads, static_cast<Index>(pieces.size()), [&](Index item, Index) {
    const QueryRun& piece = pieces[static_cast<std::size_t>(item)];
    const Index tile = piece.tiles[piece.first_position / kKeyTile], slot = piece.first_position % kKeyTile;
    for (Index head = 0; head < dims.kv_heads; ++head) {
      const Index to = (tile * dims.kv_heads + head) * d * kKeyTile, from = piece.first_row * stride + head * d;
      for (Index c = 0; c < d; ++c) {  // keys inside: what is written is consecutive
        for (Index j = 0; j < piece.rows; ++j) { pool_k[to + c * kKeyTile + slot + j] = k[from + j * stride + c]; }
      }
      for (Index j = 0; j < piece.rows; ++j) { std::copy_n(v + from + j * stride, d, pool_v + to + (slot + j) * d); }
    }
  });
}

/// A part of a run and one kv head: the unit of work of a thread.
struct Item {
  QueryRun run;
  Index kv_head;
};

template <class T, class Kernel>
void forward(const Exec& exec, const AttentionDims& dims, double scale, const Tensor& q, std::span<const QueryRun> runs, const KvPool& pool,
             Tensor& o, Tensor* lse, const Kernel& kernel) {
  const Index heads = dims.q_heads / dims.kv_heads, block_rows = std::max<Index>(1, kForwardQueries / heads);
  std::vector<Item> items;
  Index cost = 0;
  for (const QueryRun& run : runs) {
    cost += run_cost(run, dims.head_dim) * dims.q_heads;
    for (Index head = 0; head < dims.kv_heads; ++head) {
      // Last rows first: they cost most, and the cheap ones fill the gaps at the end.
      for (Index end = run.rows; end > 0; end -= std::min(end, block_rows)) {
        const Index begin = std::max<Index>(0, end - block_rows);
        items.push_back({{run.first_row + begin, end - begin, run.first_position + begin, run.tiles}, head});
      }
    }
  }
  const AttentionForwardJob<T> all{dims,          static_cast<T>(scale), q.data<T>(), pool.k.data<T>(), pool.v.data<T>(), o.data<T>(),
                                   lse ? lse->data<T>() : nullptr, {}, 0, nullptr};
  parallel_items(cost < kSmallAttention ? 1 : exec.threads, static_cast<Index>(items.size()), [&](Index i, Index) {
    AttentionForwardJob<T> job = all;
    job.run = items[static_cast<std::size_t>(i)].run;
    job.kv_head = items[static_cast<std::size_t>(i)].kv_head;
    if constexpr (std::is_same_v<T, float>) { job.scratch = thread_scratch(forward_scratch(job.run.rows * heads, dims.head_dim)); }
    kernel(job);
  });
}

template <class T, class Kernel>
void backward(const Exec& exec, AttentionBackwardJob<T> all, std::span<const QueryRun> runs, const Kernel& kernel) {
  const Index heads = all.dims.q_heads / all.dims.kv_heads;
  std::vector<Item> items;
  Index cost = 0;
  for (const QueryRun& run : runs) {
    cost += run_cost(run, all.dims.head_dim) * all.dims.q_heads;
    for (Index head = 0; head < all.dims.kv_heads; ++head) { items.push_back({run, head}); }
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.run.rows > b.run.rows; });
  parallel_items(cost < kSmallAttention ? 1 : exec.threads, static_cast<Index>(items.size()), [&](Index i, Index) {
    AttentionBackwardJob<T> job = all;
    job.run = items[static_cast<std::size_t>(i)].run;
    job.kv_head = items[static_cast<std::size_t>(i)].kv_head;
    const Index elements = backward_scratch(job.run.rows * heads, all.dims.head_dim);
    job.scratch = reinterpret_cast<T*>(thread_scratch(elements * static_cast<Index>(sizeof(T) / sizeof(float))));
    kernel(job);
  });
}

}  // namespace

void kv_store(const Exec& exec, const AttentionDims& dims, const Tensor& k_NGd, const Tensor& v_NGd, std::span<const QueryRun> runs,
              KvPool& pool) {
  const Index n = k_NGd.shape()[0];
  const DType dtype = k_NGd.dtype();
  check_input(dims, n, runs, pool, dtype);
  check("k", k_NGd, {n, dims.kv_heads, dims.head_dim}, dtype);
  check("v", v_NGd, {n, dims.kv_heads, dims.head_dim}, dtype);
  if (on_device(exec)) { return backend(exec).kv_store(dims, k_NGd.data<float>(), v_NGd.data<float>(), runs, pool.k.data<float>(), pool.v.data<float>()); }
  if (dtype == DType::f64) {
    store_tiles(exec, dims, k_NGd.data<double>(), v_NGd.data<double>(), runs, pool);
  } else {
    store_tiles(exec, dims, k_NGd.data<float>(), v_NGd.data<float>(), runs, pool);
  }
}

void attention_forward(const Exec& exec, const AttentionDims& dims, double scale, const Tensor& q_NHd, std::span<const QueryRun> runs,
                       const KvPool& pool, Tensor& o_NHd, Tensor* lse_NH) {
  const Index n = q_NHd.shape()[0];
  const DType dtype = q_NHd.dtype();
  check_input(dims, n, runs, pool, dtype);
  check("q", q_NHd, {n, dims.q_heads, dims.head_dim}, dtype);
  check("o", o_NHd, {n, dims.q_heads, dims.head_dim}, dtype);
  if (lse_NH != nullptr) { check("lse", *lse_NH, {n, dims.q_heads}, dtype); }
  if (on_device(exec)) {
    return backend(exec).attention_forward({dims, static_cast<float>(scale), q_NHd.data<float>(), pool.k.data<float>(), pool.v.data<float>(), o_NHd.data<float>(),
                                            lse_NH != nullptr ? lse_NH->data<float>() : nullptr, {}, 0, nullptr}, runs);
  }
  if (dtype == DType::f64) {
    forward<double>(exec, dims, scale, q_NHd, runs, pool, o_NHd, lse_NH, attention_forward_f64);
  } else {
    forward<float>(exec, dims, scale, q_NHd, runs, pool, o_NHd, lse_NH, attention_forward_f32);
  }
}

void attention_backward(const Exec& exec, const AttentionDims& dims, double scale, const Tensor& q, const Tensor& k, const Tensor& v,
                        std::span<const QueryRun> runs, const KvPool& pool, const Tensor& o, const Tensor& lse, const Tensor& d_o,
                        Tensor& dq, Tensor& dk, Tensor& dv) {
  const Index n = q.shape()[0];
  const DType dtype = q.dtype();
  check_input(dims, n, runs, pool, dtype);
  const Shape query_shape{n, dims.q_heads, dims.head_dim}, key_shape{n, dims.kv_heads, dims.head_dim};
  check("q", q, query_shape, dtype), check("o", o, query_shape, dtype), check("d_o", d_o, query_shape, dtype), check("dq", dq, query_shape, dtype);
  check("k", k, key_shape, dtype), check("v", v, key_shape, dtype), check("dk", dk, key_shape, dtype), check("dv", dv, key_shape, dtype);
  check("lse", lse, {n, dims.q_heads}, dtype);
  for (const QueryRun& run : runs) {
    MINIRL_CHECK(run.first_position == 0, "attention backward needs whole sequences, not a run from position {}", run.first_position);
  }
  if (on_device(exec)) {
    return backend(exec).attention_backward({dims, static_cast<float>(scale), q.data<float>(), k.data<float>(), v.data<float>(), pool.k.data<float>(), o.data<float>(),
                                             lse.data<float>(), d_o.data<float>(), dq.data<float>(), dk.data<float>(), dv.data<float>(), {}, 0, nullptr}, runs);
  }
  const auto run = [&]<class T>(T, const auto& kernel) {
    backward<T>(exec,
                {dims, static_cast<T>(scale), q.data<T>(), k.data<T>(), v.data<T>(), pool.k.data<T>(), o.data<T>(), lse.data<T>(),
                 d_o.data<T>(), dq.data<T>(), dk.data<T>(), dv.data<T>(), {}, 0, nullptr},
                runs, kernel);
  };
  if (dtype == DType::f64) { run(0.0, attention_backward_f64); } else { run(0.0F, attention_backward_f32); }
}

}  // namespace minirl::kernels
