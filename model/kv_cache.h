// minirl model/kv_cache.h -- keys and values of running sequences, in tiles of 32 absolute positions.
// A tile is shared by every sequence that has the same prefix through its last position: a group's prompt
// is stored once. The bits are those that training computes (R5).
#pragma once
#include <vector>

#include "kernels/attention.h"
#include "model/model_config.h"

namespace minirl {

class KvCache {
 public:
  /// One running sequence: `length` positions are stored in `tiles`.
  struct Sequence {
    std::vector<int> tiles;
    Index length = 0;
  };

  /// Room for `max_tiles` tiles of 32 positions in every layer.
  KvCache(const ModelConfig& config, Index max_tiles, DType dtype, const Exec& exec);

  /// Makes room for positions up to `length` (exclusive).
  void extend(Sequence& sequence, Index length);
  /// A sequence that continues `prefix`: full tiles are shared, the last partial one is copied.
  Sequence fork(const Sequence& prefix);
  void release(Sequence& sequence);

  kernels::KvPool& layer(Index index) { return pools_[static_cast<std::size_t>(index)]; }
  Index tiles_in_use() const { return static_cast<Index>(users_.size() - free_.size()); }
  Index bytes() const;

 private:
  int take();

  std::vector<kernels::KvPool> pools_;  // one a layer
  std::vector<int> users_;              // reference count a tile
  std::vector<int> free_;
};

}  // namespace minirl
