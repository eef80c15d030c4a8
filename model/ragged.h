// minirl model/ragged.h -- a batch of sequences of different lengths, without padding.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "model/model_config.h"

namespace minirl {

struct Ragged {
  Tensor ids;        // (N) i32
  Tensor positions;  // (N) i32, position of each token in its sequence
  std::shared_ptr<const ops::RunPlan> plan;
  std::vector<Index> first_row;  // (S + 1) rows of sequence s: [first_row[s], first_row[s+1])
  Index tokens() const { return ids.numel(); }
};

/// Whole sequences, each from position 0 (training and evaluation of given text).
Ragged pack_sequences(std::span<const std::span<const Token>> sequences, const Exec& exec);

}  // namespace minirl
