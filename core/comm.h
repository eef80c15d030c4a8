// minirl core/comm.h -- data parallelism: a library moves bytes, the sums are ours, in rank order.
#pragma once
#include <memory>
#include <span>

#include "core/tensor.h"

namespace minirl {

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Every tensor becomes the sum over the ranks, added in ascending rank order on every rank.
  virtual void sum_in_rank_order(std::span<Tensor> tensors, const Exec& exec) = 0;
  virtual void broadcast(std::span<Tensor> tensors, int root, const Exec& exec) = 0;
  /// The one-process communicator: both calls leave their tensors as they are.
  static std::unique_ptr<Comm> solo();
};

}  // namespace minirl
