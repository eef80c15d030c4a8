#include "rl/micro_batch.h"

#include <algorithm>

namespace minirl::rl {
namespace {

// The last completion token predicts nothing that is scored, so it is not run.
Index run_tokens(const ScoredSequence& s) { return static_cast<Index>(s.prompt.size() + s.completion.size()) - 1; }

struct Prepared {
  Ragged batch;
  Tensor rows, targets;        // (M) which rows are scored and on what
  Tensor topk_ids, topk_logp;  // (M, K), where asked for
  std::vector<Index> offset;   // (S + 1) into the M scored tokens
};

Prepared prepare(std::span<const ScoredSequence> sequences, Index topk, const Exec& exec) {
  std::vector<std::vector<Token>> joined;
  std::vector<std::span<const Token>> spans;
  joined.reserve(sequences.size());
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> topk_ids;
  std::vector<Index> offset = {0};
  Index first = 0;
  for (const ScoredSequence& s : sequences) {
    MINIRL_CHECK(!s.prompt.empty() && !s.completion.empty(), "prompt of {} and completion of {} tokens", s.prompt.size(), s.completion.size());
    auto& ids = joined.emplace_back(s.prompt.begin(), s.prompt.end());
    ids.insert(ids.end(), s.completion.begin(), s.completion.end() - 1);
    spans.emplace_back(ids);
    for (std::size_t t = 0; t < s.completion.size(); ++t) {
      rows.push_back(static_cast<std::int32_t>(first + static_cast<Index>(s.prompt.size() + t) - 1));
      targets.push_back(s.completion[t]);
    }
    if (topk > 0) {
      MINIRL_CHECK(s.topk_ids.size() == s.completion.size() * static_cast<std::size_t>(topk), "{} ids for {} tokens and K = {}", s.topk_ids.size(), s.completion.size(), topk);
      topk_ids.insert(topk_ids.end(), s.topk_ids.begin(), s.topk_ids.end());
    }
    offset.push_back(static_cast<Index>(targets.size()));
    first += run_tokens(s);
  }
  const auto m = static_cast<Index>(rows.size());
  Prepared p{pack_sequences(spans, exec), Tensor::from<std::int32_t>({m}, rows, exec), Tensor::from<std::int32_t>({m}, targets, exec), {}, {}, std::move(offset)};
  if (topk > 0) {
    p.topk_ids = Tensor::from<std::int32_t>({m, topk}, topk_ids, exec);
    p.topk_logp = Tensor::empty({m, topk}, DType::f32, exec);
  }
  return p;
}

ops::LogProbOptions head_options(const MicroBatchOptions& o, const Prepared& p) { return {o.temperature, o.entropy, o.vocabulary, o.chunk_rows, p.topk_ids, p.topk_logp}; }

// (T, K) of sequence s.
std::span<const float> topk_part(const Prepared& p, std::size_t s, Index topk) {
  if (topk == 0) { return {}; }
  return p.topk_logp.span<float>().subspan(static_cast<std::size_t>(p.offset[s] * topk), static_cast<std::size_t>((p.offset[s + 1] - p.offset[s]) * topk));
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> cut_micro_batches(std::span<const ScoredSequence> sequences, Index tokens_per_micro) {
  std::vector<std::pair<std::size_t, std::size_t>> cuts;
  std::size_t begin = 0;
  Index tokens = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Index n = run_tokens(sequences[i]);
    if (n > tokens_per_micro) {
      fail(Exit::usage, fmt::format("a sequence of {} tokens does not fit train.tokens_per_micro = {}", n, tokens_per_micro),
           "raise train.tokens_per_micro or lower rollout.max_new_tokens");
    }
    if (tokens + n > tokens_per_micro) {
      cuts.emplace_back(begin, i);
      begin = i;
      tokens = 0;
    }
    tokens += n;
  }
  if (begin < sequences.size()) { cuts.emplace_back(begin, sequences.size()); }
  return cuts;
}

MicroBatchReport accumulate_gradients(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                      const MicroBatchOptions& options, const SequenceGradient& gradient) {
  MINIRL_CHECK(model.dtype() == DType::f32, "training runs in f32, not {}", name(model.dtype()));
  MicroBatchReport report;
  for (const auto& [begin, end] : cut_micro_batches(sequences, options.tokens_per_micro)) {
    Prepared p = prepare(sequences.subspan(begin, end - begin), options.topk, exec);
    Tape tape(true, exec);
    tape.watch(options.witness);
    const Var logp = model.token_logp({tape, nullptr}, p.batch, p.rows, p.targets, head_options(options, p));
    p.topk_logp = p.topk_logp.on_host();
    Tensor seed = Tensor::zeros(logp.value.shape(), DType::f32);  // the loss is host code
    const Index m = p.targets.numel();
    const auto part = [&](Tensor& t, Index row, std::size_t s) -> std::span<float> {
      return t.span<float>().subspan(static_cast<std::size_t>(row * m + p.offset[s]), static_cast<std::size_t>(p.offset[s + 1] - p.offset[s]));
    };
    Tensor values = logp.value.on_host();
    for (std::size_t s = 0; s < end - begin; ++s) {
      const SequenceScores scores{part(values, 0, s), options.entropy ? part(values, 1, s) : std::span<float>{}, topk_part(p, s, options.topk)};
      gradient(begin + s, scores, {part(seed, 0, s), options.entropy ? part(seed, 1, s) : std::span<float>{}});
    }
    tape.backward(logp, seed.near(exec));
    ++report.micro_batches;
    report.tokens += p.batch.tokens();
    report.largest_tokens = std::max(report.largest_tokens, p.batch.tokens());
  }
  return report;
}

std::vector<SequenceLogp> score_sequences(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                                const MicroBatchOptions& options) {
  std::vector<SequenceLogp> out;
  for (const auto& [begin, end] : cut_micro_batches(sequences, options.tokens_per_micro)) {
    Prepared p = prepare(sequences.subspan(begin, end - begin), options.topk, exec);
    Tape tape(false, exec);
    tape.watch(options.witness);
    const Var logp = model.token_logp({tape, nullptr}, p.batch, p.rows, p.targets, head_options(options, p));
    p.topk_logp = p.topk_logp.on_host();
    const Tensor host = logp.value.on_host();
    const auto values = host.span<float>();
    for (std::size_t s = 0; s < end - begin; ++s) {
      const auto topk = topk_part(p, s, options.topk);
      out.push_back({{values.begin() + p.offset[s], values.begin() + p.offset[s + 1]}, {topk.begin(), topk.end()}});
    }
  }
  return out;
}

std::vector<std::vector<double>> score_sequences_f64(Decoder& model, const Exec& exec, std::span<const ScoredSequence> sequences,
                                                     const MicroBatchOptions& options) {
  MINIRL_CHECK(model.dtype() == DType::f64 && options.topk == 0, "a model in {}, K = {}", name(model.dtype()), options.topk);
  std::vector<std::vector<double>> out;
  for (const auto& [begin, end] : cut_micro_batches(sequences, options.tokens_per_micro)) {
    const Prepared p = prepare(sequences.subspan(begin, end - begin), 0, exec);
    Tape tape(false, exec);
    tape.watch(options.witness);
    const Var logp = model.token_logp({tape, nullptr}, p.batch, p.rows, p.targets, head_options(options, p));
    const auto values = logp.value.span<double>();
    for (std::size_t s = 0; s < end - begin; ++s) { out.emplace_back(values.begin() + p.offset[s], values.begin() + p.offset[s + 1]); }
  }
  return out;
}

}  // namespace minirl::rl
