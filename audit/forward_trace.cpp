#include "audit/forward_trace.h"

#include <bit>

#include "autograd/dispatch.h"

namespace minirl::audit {
namespace {

// Element i of row r of an op's output: the log-probabilities are (1 or 2, M), one column a row.
struct RowView {
  const Tensor& value;
  bool columns;
  Index rows() const { return columns ? value.shape().last() : value.shape()[0]; }
  Index width() const { return value.numel() / rows(); }
  template <class T>
  T at(Index row, Index i) const {
    return value.data<T>()[columns ? i * rows() + row : row * width() + i];
  }
};

std::uint64_t fingerprint(const RowView& view, Index row) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a over words
  dispatch_real(view.value.dtype(), [&](auto real) {
    using T = decltype(real);
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (Index i = 0; i < view.width(); ++i) {
      hash ^= std::bit_cast<Bits>(view.template at<T>(row, i));
      hash *= 0x100000001b3ULL;
    }
  });
  return hash;
}

}  // namespace

void ForwardTrace::begin(std::vector<Index> rows, std::vector<Index> scored) {
  rows_ = std::move(rows);
  scored_ = std::move(scored);
  next_ = 0;
  gathered_ = false;
  last_place_.clear();
}

Tape::Witness ForwardTrace::witness() {
  return [this](std::string_view op, std::string_view place, const Tensor& value) {
    see(op, place, value);
  };
}

void ForwardTrace::see(std::string_view op, std::string_view place, const Tensor& value) {
  if (op == "view") {
    return;  // the same numbers under another shape
  }
  const std::size_t index = next_++;
  gathered_ = gathered_ || op == "gather_rows";
  if (!place.empty()) {
    last_place_ = place;
  }
  if (index == ops_.size()) {
    ops_.push_back({place.empty() ? fmt::format("{}, after {}", op, last_place_)
                                  : fmt::format("{} {}", op, place),
                    {}});
  }
  const RowView view{value, op == "token_logp"};
  const std::vector<Index>& positions = gathered_ ? scored_ : rows_;
  MINIRL_CHECK(view.rows() == static_cast<Index>(positions.size()), "{} gave {} rows of {}",
               ops_[index].label, view.rows(), positions.size());
  for (Index r = 0; r < view.rows(); ++r) {
    const Index position = positions[static_cast<std::size_t>(r)];
    if (position < 0) {
      continue;
    }
    ops_[index].rows[position] = fingerprint(view, r);
    if (wanted_ && wanted_->op == index && wanted_->position == position) {
      row_.clear();
      dispatch_real(value.dtype(), [&](auto real) {
        using T = decltype(real);
        for (Index i = 0; i < view.width(); ++i) {
          row_.push_back(static_cast<float>(view.template at<T>(r, i)));
        }
      });
    }
  }
}

std::optional<ForwardTrace::Wanted> first_difference(const ForwardTrace& a, const ForwardTrace& b) {
  for (std::size_t i = 0; i < a.ops().size() && i < b.ops().size(); ++i) {
    for (const auto& [position, bits] : a.ops()[i].rows) {
      const auto other = b.ops()[i].rows.find(position);
      if (other != b.ops()[i].rows.end() && other->second != bits) {
        return ForwardTrace::Wanted{i, position};
      }
    }
  }
  return std::nullopt;
}

void trace_packed(Decoder& model, const Exec& exec, std::span<const rl::ScoredSequence> sequences,
                  std::size_t index, const rl::MicroBatchOptions& options, ForwardTrace& trace) {
  std::vector<Index> rows;
  std::vector<Index> scored;
  Index total = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const auto prompt = static_cast<Index>(sequences[s].prompt.size());
    const auto run = prompt + static_cast<Index>(sequences[s].completion.size()) - 1;
    for (Index p = 0; p < run; ++p) {
      const Index position = s == index ? p : -1;
      rows.push_back(position);
      if (p >= prompt - 1) {
        scored.push_back(position);
      }
    }
    total += run;
  }
  trace.begin(std::move(rows), std::move(scored));
  rl::MicroBatchOptions one = options;
  one.tokens_per_micro = total;
  one.witness = trace.witness();
  rl::score_sequences(model, exec, sequences, one);
}

void trace_decoding(Decoder& model, const Exec& exec, const rl::ScoredSequence& sequence,
                    const rl::MicroBatchOptions& options, ForwardTrace& trace) {
  const auto prompt = static_cast<Index>(sequence.prompt.size());
  const auto length = prompt + static_cast<Index>(sequence.completion.size()) - 1;
  const Index tiles = (length + kernels::kKeyTile - 1) / kernels::kKeyTile;
  KvCache cache(model.config(), tiles, model.dtype(), exec);
  KvCache::Sequence kv;
  Tape tape(false, exec);
  tape.watch(trace.witness());
  const Pass pass{tape, &cache};
  // Runs positions [begin, end) of the sequence.
  const auto run = [&](Index begin, Index end) {
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> positions;
    for (Index p = begin; p < end; ++p) {
      ids.push_back(p < prompt ? sequence.prompt[static_cast<std::size_t>(p)]
                               : sequence.completion[static_cast<std::size_t>(p - prompt)]);
      positions.push_back(static_cast<std::int32_t>(p));
    }
    cache.extend(kv, end);
    auto plan = std::make_shared<ops::RunPlan>();
    plan->runs.push_back({0, end - begin, begin, kv.tiles.data()});
    trace.begin({positions.begin(), positions.end()}, {end - 1});
    return model.hidden(pass, {Tensor::from<std::int32_t>({end - begin}, ids, exec),
                               Tensor::from<std::int32_t>({end - begin}, positions, exec),
                               std::move(plan),
                               {}});
  };
  if (prompt > 1) {
    run(0, prompt - 1);
  }
  const std::int32_t only = 0;
  const Tensor first = Tensor::from<std::int32_t>({1}, std::span(&only, 1), exec);
  for (std::size_t t = 0; t < sequence.completion.size(); ++t) {
    const Index at = prompt - 1 + static_cast<Index>(t);
    const Var hidden = run(at, at + 1);
    const Var head = model.head_input(pass, hidden, first);
    const std::int32_t target = sequence.completion[t];
    ops::token_logp(tape, head, model.head(),
                    Tensor::from<std::int32_t>({1}, std::span(&target, 1), exec),
                    {.temperature = options.temperature, .vocabulary = options.vocabulary});
  }
}

}  // namespace minirl::audit
