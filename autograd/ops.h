// minirl autograd/ops.h -- THE list of ops. Shapes use N tokens, D model width, F feed-forward width,
// H query heads, G key-value heads, K head width, V vocabulary. One file autograd/ops/NAME.cpp each.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "autograd/param.h"
#include "autograd/tape.h"
#include "core/rng.h"
#include "kernels/attention.h"

namespace minirl::ops {

/// y_ND = w[id_n].  w (V, D), ids (N) i32.                                                   (emb.1)
Var embedding(Tape& tape, ParamUse w, const Tensor& ids);

/// y = x / rms(x) * w over the last dimension.  x (..., D), w (D).                           (rms.1-4)
Var rmsnorm(Tape& tape, const Var& x, ParamUse w, double eps);

/// y_NM = x_NK w_MK^T.                                                                       (mm.1-3)
Var linear(Tape& tape, const Var& x, ParamUse w);

/// y_n = x_n + b.  x (..., M), b (M). x is changed in place: its producer must not need its output. (bias.1-2)
Var add_bias(Tape& tape, const Var& x, ParamUse b);

/// y = a + b, equal shapes.
Var add(Tape& tape, const Var& a, const Var& b);

/// y = silu(gate) * up.  (N, F)                                                              (swi.1-3)
Var swiglu(Tape& tape, const Var& gate, const Var& up);

/// The same elements under another shape.
Var view(Tape& tape, const Var& x, Shape shape);

/// y_m = x[row_m].  x (N, D), rows (M) i32, every row at most once.
Var gather_rows(Tape& tape, const Var& x, const Tensor& rows);

/// cos and sin of position * frequency_i, (positions, K/2); computed in double, rounded to `dtype`.
struct RopeTable {
  Tensor cosine, sine;
  /// Frequencies theta^(-2i/K).
  static RopeTable make(Index positions, Index head_dim, double theta, DType dtype);
  /// Given frequencies, K/2 of them; all entries are multiplied by `magnitude`.
  static RopeTable make(Index positions, std::span<const double> frequency, double magnitude, DType dtype);
  /// Where `exec` computes; Tensor::near.
  RopeTable near(const Exec& exec) const;
};
/// Rotary position embedding. x (N, H, K) is rotated in place: its producer must not need its output. (rope.1-3)
Var rope(Tape& tape, const Var& x, const RopeTable& table, const Tensor& positions);

/// Part of a model: from the tape to record on and an input to an output. Must not change its input.
using RecomputedSegment = std::function<Var(Tape& tape, const Var& x)>;
/// y = segment(x), of which only x is kept: backward runs the segment again. Costs one more forward of the
/// segment, changes no bit.
Var recomputed(Tape& tape, const Var& x, RecomputedSegment segment);

/// Which rows of a ragged batch belong to which sequence, and which key tiles each sequence uses.
struct RunPlan {
  std::vector<kernels::QueryRun> runs;      // `tiles` points into tile_ids
  std::vector<std::vector<int>> tile_ids;   // one list a run
  int tiles = 0;                            // tiles of a pool that holds them all
};
/// Causal grouped-query attention. q (N, H, K), k and v (N, G, K), out (N, H, K). With `cache`, the new
/// keys and values are stored there and attention sees everything that it holds (decoding); without,
/// a pool is made for this call (training). Both run the same kernel.                        (att.1-)
Var attention(Tape& tape, const Var& q, const Var& k, const Var& v, std::shared_ptr<const RunPlan> plan, double scale,
              kernels::KvPool* cache);

/// Logits of so many rows may always be held at once: each pass over a large head then serves many rows.
inline constexpr Index kLeastLogitRows = 128;
struct LogProbOptions {
  double temperature = 1.0;
  bool entropy = false;   // also give the entropy of every row
  Index vocabulary = 0;   // ids that exist; rows of the head above it are padding. 0 = all
  Index chunk_rows = 0;   // rows of logits held at once; 0 = 8 MiB of them, at least kLeastLogitRows. Changes no bit
  // Further ids of every row whose log-probabilities are wanted too, not differentiated (topk.2):
  Tensor topk_ids = {};   // (N, K) i32, or empty
  Tensor topk_logp = {};  // (N, K), written by forward
};
/// log softmax(h w^T / T)[target] without ever holding N x V logits: chunks of rows, computed again in
/// backward. h (N, D), w (V, D), targets (N) i32. Result (1, N), or (2, N) with the entropies in
/// nats as second row; the seed of backward has the same shape.                               (lp.1-5)
Var token_logp(Tape& tape, const Var& h, ParamUse w, const Tensor& targets, const LogProbOptions& options);

struct SampleOptions {
  double temperature = 1.0;
  Index vocabulary = 0;
  bool greedy = false;   // the most likely token; log-probabilities are still those at `temperature`
  bool entropy = false;
  Index topk = 0;  // also give the K most likely ids and their log mu (topk.1)
  // Faults on purpose (rl/mismatch.h): noise on the logits (noise.1), and log-probabilities that are
  // recorded at another temperature than the token was drawn at.
  double logit_noise = 0;         // standard deviation; 0: none
  double record_temperature = 0;  // 0: `temperature`
  // Evaluation only: which ids may be drawn (autograd/logit_filter.h). Log-probabilities are those
  // without the filter.
  Index top_k = 0;   // 0: all
  double top_p = 1;  // 1: all
};
/// On the host, wherever the model is.
struct SampledTokens {
  Tensor token;    // (N) i32
  Tensor logp;     // (N) log mu of the drawn token: the same program as token_logp (R6)
  Tensor entropy;  // (N) if asked for
  Tensor topk_ids, topk_logp;  // (N, K) if asked for
};
/// Draws one token a row from softmax(h w^T / T) by Gumbel-max with the row's key and position. Not
/// differentiated.                                                                           (smp.1)
SampledTokens sample_tokens(const Exec& exec, const Tensor& h, ParamUse w, std::span<const rng::Key> keys,
                            std::span<const std::uint32_t> positions, const SampleOptions& options);

}  // namespace minirl::ops
