#include <algorithm>

#include "autograd/dispatch.h"
#include "autograd/logit_filter.h"
#include "autograd/ops.h"
#include "core/near.h"
#include "core/parallel.h"
#include "kernels/logit_noise.h"
#include "kernels/logprob.h"
#include "kernels/matmul.h"
#include "kernels/topk.h"

namespace minirl::ops {
namespace {

constexpr Index kChunkBytes = Index{8} << 20, kDeviceChunkBytes = Index{256} << 20;
constexpr std::uint64_t kNoiseTag = 0x6e6f697365;  // keeps the noise apart from the draw of the token

// logits of rows [begin, end) of h: (rows, V)
Tensor head_logits(const Exec& exec, const Tensor& h, const kernels::PackedMatrix& head, Index begin, Index end) {
  Tensor logits = Tensor::empty({end - begin, head.rows()}, h.dtype(), exec);
  kernels::linear_forward(exec, h.slice(begin, end), head, logits);
  return logits;
}

// Rows of logits that exist at once: they exist nowhere else.
Index rows_per_chunk(const Exec& exec, Index V, DType dtype) {
  const Index bytes = exec.device.kind == DeviceKind::cpu ? kChunkBytes : kDeviceChunkBytes;
  return std::max(kLeastLogitRows, bytes / (V * size_of(dtype)));
}

// The logits with those that may not be drawn at -inf.
template <class T>
Tensor filtered_copy(const Exec& exec, const Tensor& logits, Index used, const SampleOptions& options) {
  Tensor out = Tensor::empty(logits.shape(), logits.dtype());  // on the host
  out.copy_from(logits);
  T* to = out.data<T>();
  const Index V = logits.shape().last();
  parallel_items(exec.threads, logits.rows(), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) { filter_logits(to + r * V, used, options.temperature, options.top_k, options.top_p); }
  });
  return out.near(exec);
}

}  // namespace

SampledTokens sample_tokens(const Exec& exec, const Tensor& h, ParamUse w, std::span<const rng::Key> keys,
                            std::span<const std::uint32_t> positions, const SampleOptions& options) {
  const Index N = h.rows();
  const Index V = w.value().shape()[0];
  const Index used = options.vocabulary > 0 ? options.vocabulary : V;
  const Index chunk = rows_per_chunk(exec, V, h.dtype());
  MINIRL_CHECK(static_cast<Index>(keys.size()) == N && static_cast<Index>(positions.size()) == N, "{} keys for {} rows", keys.size(), N);
  const Index K = options.topk;
  const bool filtered = options.top_k > 0 || options.top_p < 1;
  MINIRL_CHECK(K >= 0 && K <= used, "the {} most likely of {} ids", K, used);
  SampledTokens out{Tensor::zeros_beside(h, {N}, DType::i32), Tensor::empty({N}, h.dtype(), exec), Tensor::empty({N}, h.dtype(), exec), {}, {}};
  if (K > 0) {
    out.topk_ids = Tensor::zeros_beside(h, {N, K}, DType::i32);
    out.topk_logp = Tensor::empty({N, K}, h.dtype(), exec);
  }
  std::vector<rng::Key> noise;
  if (options.logit_noise > 0) {
    for (const rng::Key& key : keys) { noise.push_back(key.derive(kNoiseTag)); }
  }
  const NearArray<rng::Key> near_keys(exec, keys), near_noise(exec, noise);
  const NearArray<std::uint32_t> near_positions(exec, positions);
  Tensor lse = Tensor::empty({N}, h.dtype(), exec);
  const kernels::PackedMatrix head = w.param->packed_forward(exec);
  dispatch_real(h.dtype(), [&](auto real) {
    using T = decltype(real);
    const T scale = static_cast<T>(1.0 / options.temperature);
    const T recorded = options.record_temperature > 0 ? static_cast<T>(1.0 / options.record_temperature) : scale;
    for (Index begin = 0; begin < N; begin += chunk) {
      const Index end = std::min(N, begin + chunk);
      Tensor logits = head_logits(exec, h, head, begin, end);
      if (!noise.empty()) {
        kernels::for_rows(exec, end - begin, 64 * V,
                          kernels::LogitNoise<T>{logits.data<T>(), near_noise.data() + begin, near_positions.data() + begin, used, V, static_cast<T>(options.logit_noise)});
      }
      const Tensor drawable = filtered ? filtered_copy<T>(exec, logits, used, options) : logits;
      kernels::for_rows(exec, end - begin, 64 * V,
                        kernels::SampleToken<T>{drawable.data<T>(), near_keys.data() + begin, near_positions.data() + begin,
                                                out.token.data<std::int32_t>() + begin, used, V, scale, options.greedy});
      kernels::for_rows(exec, end - begin, 16 * V,
                        kernels::LogProb<T>{logits.data<T>(), out.token.data<std::int32_t>() + begin, out.logp.data<T>() + begin,
                                            lse.data<T>() + begin, options.entropy ? out.entropy.data<T>() + begin : nullptr, used, V, recorded});
      if (K > 0) {
        std::int32_t* ids = out.topk_ids.data<std::int32_t>() + begin * K;
        kernels::for_rows(exec, end - begin, 2 * K * V, kernels::TopK<T>{logits.data<T>(), ids, K, used, V});
        kernels::for_rows(exec, end - begin, 4 * K, kernels::GatherLogProb<T>{logits.data<T>(), ids, lse.data<T>() + begin, out.topk_logp.data<T>() + begin * K, K, V, recorded});
      }
    }
  });
  for (Tensor* t : {&out.token, &out.logp, &out.entropy, &out.topk_ids, &out.topk_logp}) { *t = t->on_host(); }
  return out;
}

Var token_logp(Tape& tape, const Var& h, ParamUse w, const Tensor& targets, const LogProbOptions& options) {
  const Exec& exec = tape.exec();
  const Index N = h.value.rows();
  const Index V = w.value().shape()[0];
  const Index used = options.vocabulary > 0 ? options.vocabulary : V;
  MINIRL_CHECK(targets.numel() == N && used <= V, "{} targets for {} rows, vocabulary {} of {}", targets.numel(), N, used, V);
  for (const std::int32_t t : targets.span<std::int32_t>()) { MINIRL_CHECK(t >= 0 && t < used, "target {} is outside [0, {})", t, used); }
  const Index chunk = options.chunk_rows > 0 ? options.chunk_rows : rows_per_chunk(exec, V, h.value.dtype());
  const Index K = !options.topk_ids.defined() ? 0 : options.topk_ids.shape().last();
  Tensor topk_logp = options.topk_logp;
  if (K > 0) {
    MINIRL_CHECK(options.topk_ids.numel() == N * K && topk_logp.numel() == N * K, "{} ids and room for {} log-probabilities, {} rows", options.topk_ids.numel(), topk_logp.numel(), N);
    for (const std::int32_t t : options.topk_ids.span<std::int32_t>()) { MINIRL_CHECK(t >= 0 && t < used, "id {} is outside [0, {})", t, used); }
  }
  const Tensor near_targets = targets.near(exec), near_topk_ids = options.topk_ids.near(exec);
  Tensor out = Tensor::empty({options.entropy ? 2 : 1, N}, h.value.dtype(), exec);
  Tensor lse = Tensor::empty({N}, h.value.dtype(), exec);
  const kernels::PackedMatrix head = w.param->packed_forward(exec);
  dispatch_real(h.value.dtype(), [&](auto real) {
    using T = decltype(real);
    const T scale = static_cast<T>(1.0 / options.temperature);
    for (Index begin = 0; begin < N; begin += chunk) {
      const Index end = std::min(N, begin + chunk);
      const Tensor logits = head_logits(exec, h.value, head, begin, end);
      kernels::for_rows(exec, end - begin, 16 * V,
                        kernels::LogProb<T>{logits.data<T>(), near_targets.data<std::int32_t>() + begin, out.data<T>() + begin, lse.data<T>() + begin,
                                            options.entropy ? out.data<T>() + N + begin : nullptr, used, V, scale});
      if (K > 0) {
        kernels::for_rows(exec, end - begin, 4 * K,
                          kernels::GatherLogProb<T>{logits.data<T>(), near_topk_ids.data<std::int32_t>() + begin * K, lse.data<T>() + begin,
                                                    topk_logp.data<T>() + begin * K, K, V, scale});
      }
    }
  });
  return tape.record("token_logp", out, {h}, [h = h.value, w, near_targets, options, out, lse, N, V, used, chunk, exec](Tensor dout, std::span<GradSlot> in) {
    const kernels::PackedMatrix packed = w.param->packed_forward(exec);
    const Tensor weight = in[0].wanted() ? w.param->real_value(exec) : Tensor();
    dispatch_real(h.dtype(), [&](auto real) {
      using T = decltype(real);
      const T scale = static_cast<T>(1.0 / options.temperature);
      for (Index begin = 0; begin < N; begin += chunk) {
        const Index end = std::min(N, begin + chunk);
        Tensor logits = head_logits(exec, h, packed, begin, end);  // the same bits as in forward
        kernels::for_rows(exec, end - begin, 16 * V,
                          kernels::LogProbBackward<T>{logits.data<T>(), near_targets.data<std::int32_t>() + begin, lse.data<T>() + begin,
                                                      options.entropy ? out.data<T>() + N + begin : nullptr, dout.data<T>() + begin,
                                                      options.entropy ? dout.data<T>() + N + begin : nullptr, used, V, scale});
        if (in[0].wanted()) {
          Tensor dh = in[0].accumulator().view({N, h.shape().last()}).slice(begin, end);
          kernels::linear_input_grad(exec, logits, weight, dh);
        }
        kernels::linear_weight_grad(exec, logits, h.slice(begin, end), w.grad());
      }
    });
  }, w.param->name);
}

}  // namespace minirl::ops
