// minirl audit/forward_trace.h -- where two ways of computing the same log-probabilities part: the
// first op, row and element whose bits differ.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/decoder.h"
#include "rl/micro_batch.h"

namespace minirl::audit {

/// Follows one sequence through a forward pass: a fingerprint of its row in the output of every op,
/// by position in the sequence. Two runs of the same sequence can be compared whatever shared their
/// batches, and whether the rows came all at once or one by one from a cache.
class ForwardTrace {
 public:
  struct Op {
    std::string label;  // "linear model.layers.0.mlp.up_proj.weight", "add, after ..."
    std::map<Index, std::uint64_t> rows;  // position: fingerprint of the bits
  };
  /// One row of one op, kept whole.
  struct Wanted {
    std::size_t op = 0;
    Index position = 0;
  };

  /// With `wanted`, that row is kept as well: run the pass again to see its numbers.
  explicit ForwardTrace(std::optional<Wanted> wanted = {}) : wanted_(wanted) {}

  /// Before each forward pass: which position each row of the batch holds (-1: another sequence's),
  /// and the same of the rows that the head scores.
  void begin(std::vector<Index> rows, std::vector<Index> scored);
  /// Is told about every op (Tape::watch). The trace must outlive the pass.
  Tape::Witness witness();

  const std::vector<Op>& ops() const { return ops_; }
  const std::vector<float>& row() const { return row_; }

 private:
  void see(std::string_view op, std::string_view place, const Tensor& value);

  std::optional<Wanted> wanted_;
  std::vector<Op> ops_;
  std::vector<float> row_;
  std::vector<Index> rows_, scored_;
  std::size_t next_ = 0;  // op of the pass
  bool gathered_ = false;
  std::string last_place_;
};

/// Where two traces part first: in the order of ops, then of positions.
std::optional<ForwardTrace::Wanted> first_difference(const ForwardTrace& a, const ForwardTrace& b);

/// Computes sequence `index` among the others in one forward pass without a cache, as training
/// does.
void trace_packed(Decoder& model, const Exec& exec, std::span<const rl::ScoredSequence> sequences,
                  std::size_t index, const rl::MicroBatchOptions& options, ForwardTrace& trace);
/// Computes the sequence with a KV cache, as sampling does: the prompt at once, then token by
/// token.
void trace_decoding(Decoder& model, const Exec& exec, const rl::ScoredSequence& sequence,
                    const rl::MicroBatchOptions& options, ForwardTrace& trace);

}  // namespace minirl::audit
