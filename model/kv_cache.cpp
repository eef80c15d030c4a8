#include "model/kv_cache.h"

namespace minirl {

KvCache::KvCache(const ModelConfig& config, Index max_tiles, DType dtype, const Exec& exec) : users_(static_cast<std::size_t>(max_tiles), 0) {
  for (Index l = 0; l < config.num_layers; ++l) {
    pools_.push_back({Tensor::empty({max_tiles, config.num_kv_heads, config.head_dim, kernels::kKeyTile}, dtype, exec),
                      Tensor::empty({max_tiles, config.num_kv_heads, kernels::kKeyTile, config.head_dim}, dtype, exec)});
  }
  for (Index t = max_tiles; t-- > 0;) { free_.push_back(static_cast<int>(t)); }
}

int KvCache::take() {
  MINIRL_CHECK(!free_.empty(), "the KV cache of {} tiles is full", users_.size());
  const int tile = free_.back();
  free_.pop_back();
  users_[static_cast<std::size_t>(tile)] = 1;
  return tile;
}

void KvCache::extend(Sequence& sequence, Index length) {
  while (static_cast<Index>(sequence.tiles.size()) * kernels::kKeyTile < length) { sequence.tiles.push_back(take()); }
  sequence.length = length;
}

KvCache::Sequence KvCache::fork(const Sequence& prefix) {
  Sequence out;
  out.length = prefix.length;
  const auto full = static_cast<std::size_t>(prefix.length / kernels::kKeyTile);
  for (std::size_t i = 0; i < full; ++i) {
    out.tiles.push_back(prefix.tiles[i]);
    ++users_[static_cast<std::size_t>(prefix.tiles[i])];
  }
  if (prefix.length % kernels::kKeyTile != 0) {
    const int copy = take();
    out.tiles.push_back(copy);
    for (kernels::KvPool& pool : pools_) {
      for (Tensor* t : {&pool.k, &pool.v}) {
        const Tensor from = t->slice(prefix.tiles[full], prefix.tiles[full] + 1);
        Tensor to = t->slice(copy, copy + 1);
        to.copy_from(from);
      }
    }
  }
  return out;
}

void KvCache::release(Sequence& sequence) {
  for (const int tile : sequence.tiles) {
    if (--users_[static_cast<std::size_t>(tile)] == 0) { free_.push_back(tile); }
  }
  sequence = {};
}

Index KvCache::bytes() const {
  Index total = 0;
  for (const kernels::KvPool& pool : pools_) { total += pool.k.bytes() + pool.v.bytes(); }
  return total;
}

}  // namespace minirl
