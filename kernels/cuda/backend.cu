// The device behind kernels/backend.h: one stream, in which everything runs in order.
#include "kernels/backend.h"

#include <vector>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/kernels.h"

namespace minirl::kernels::cuda {
namespace {

/// Device memory that grows and is used again; what uses it runs in one stream.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { cudaFree(data_); }

  template <class T>
  T* room(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > bytes_) {
      check(cudaFree(data_), "free scratch");  // waits for what uses it
      data_ = nullptr;
      bytes_ = 0;
      check(cudaMalloc(&data_, bytes + bytes / 2), "scratch memory");
      bytes_ = bytes + bytes / 2;
    }
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* filled(const std::vector<T>& values, cudaStream_t stream) {
    T* at = room<T>(values.size());
    check(cudaMemcpyAsync(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream), "upload of a plan");
    return at;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

std::int32_t small(Index i) { return static_cast<std::int32_t>(i); }

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(cudaStream_t stream) : stream_(stream) {}

  void* allocate(std::size_t bytes) override {
    void* block = nullptr;
    const cudaError_t error = cudaMalloc(&block, bytes);
    if (error == cudaErrorMemoryAllocation) { return nullptr; }
    check(error, "device memory");
    return block;
  }
  void release(void* block) override { check(cudaFree(block), "free device memory"); }
  void copy_in(void* device, const void* host, std::size_t bytes) override { copy(device, host, bytes, cudaMemcpyHostToDevice); }
  void copy_out(void* host, const void* device, std::size_t bytes) override {
    copy(host, device, bytes, cudaMemcpyDeviceToHost);
    synchronize();
  }
  void copy_within(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes, cudaMemcpyDeviceToDevice); }
  void clear(void* at, std::size_t bytes) override { check(cudaMemsetAsync(at, 0, bytes, stream_), "clear"); }
  void synchronize() override { check(cudaStreamSynchronize(stream_), "device"); }

  void rows(const char* name, const void* program, Index rows) override { run_rows(name, program, rows, stream_); }

  void linear_forward(const float* x, const float* w, float* y, Index m, Index n, Index k) override { cuda::linear_forward(x, w, y, m, n, k, stream_); }
  void linear_input_grad(const float* dy, const float* w, float* dx, Index m, Index n, Index k) override { cuda::linear_input_grad(dy, w, dx, m, n, k, stream_); }
  void linear_weight_grad(const float* dy, const float* x, float* dw, Index m, Index n, Index k) override { cuda::linear_weight_grad(dy, x, dw, m, n, k, stream_); }

  void kv_store(const AttentionDims& dims, const float* k, const float* v, std::span<const QueryRun> runs, float* pool_k, float* pool_v) override {
    std::vector<KvRow> rows;
    for (const QueryRun& run : runs) {
      for (Index i = 0; i < run.rows; ++i) {
        const Index position = run.first_position + i;
        rows.push_back({small(run.first_row + i), small(position), run.tiles[position / kKeyTile]});
      }
    }
    cuda::kv_store(dims, k, v, rows_.filled(rows, stream_), static_cast<Index>(rows.size()), pool_k, pool_v, stream_);
  }

  void attention_forward(const AttentionForwardJob<float>& job, std::span<const QueryRun> runs) override {
    std::vector<std::int32_t> tiles;
    std::vector<AttentionItem> items;
    const Index heads = job.dims.q_heads / job.dims.kv_heads;
    for (const QueryRun& run : runs) {
      if (run.rows == 0) { continue; }
      cut(run, run.rows * heads, kForwardWarps * kQueriesPerWarp, small(static_cast<Index>(tiles.size())), items);
      tiles.insert(tiles.end(), run.tiles, run.tiles + (run.first_position + run.rows + kKeyTile - 1) / kKeyTile);
    }
    cuda::attention_forward(job, items_.filled(items, stream_), static_cast<Index>(items.size()), tiles_.filled(tiles, stream_), stream_);
  }

  void attention_backward(const AttentionBackwardJob<float>& job, std::span<const QueryRun> runs) override {
    std::vector<AttentionItem> query_items, key_items;
    Index rows = 0;
    for (const QueryRun& run : runs) {
      cut(run, run.rows * (job.dims.q_heads / job.dims.kv_heads), kBackwardWarps, 0, query_items);
      cut(run, run.rows, kBackwardWarps, 0, key_items);
      rows = rows < run.first_row + run.rows ? run.first_row + run.rows : rows;
    }
    cuda::attention_backward(job, items_.filled(query_items, stream_), static_cast<Index>(query_items.size()), key_items_.filled(key_items, stream_),
                             static_cast<Index>(key_items.size()), delta_.room<float>(static_cast<std::size_t>(rows * job.dims.q_heads)), stream_);
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) { check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copy"); }

  /// Appends items that cover [0, n) of the run, at most `most` each.
  static void cut(const QueryRun& run, Index n, Index most, std::int32_t tiles, std::vector<AttentionItem>& items) {
    for (Index first = 0; first < n; first += most) {
      items.push_back({small(run.first_row), small(run.rows), small(run.first_position), tiles, small(first), small(first + most < n ? first + most : n)});
    }
  }

  cudaStream_t stream_;
  Scratch rows_, tiles_, items_, key_items_, delta_;
};

}  // namespace

Backend* make_backend(cudaStream_t stream) { return new CudaBackend(stream); }

}  // namespace minirl::kernels::cuda
