#include "kernels/attention.h"

#include "autograd/ops.h"

namespace minirl::ops {

Var attention(Tape& tape, const Var& q, const Var& k, const Var& v, std::shared_ptr<const RunPlan> plan, double scale,
              kernels::KvPool* cache) {
  const Exec& exec = tape.exec();
  const Shape& qs = q.value.shape();
  const Shape& ks = k.value.shape();
  MINIRL_CHECK(qs.rank == 3 && ks.rank == 3 && v.value.shape() == ks && qs[0] == ks[0] && qs[2] == ks[2] && qs[1] % ks[1] == 0,
               "attention over q {}, k {}, v {}", qs.str(), ks.str(), v.value.shape().str());
  MINIRL_CHECK(cache == nullptr || !tape.recording(), "a cached pass is not differentiated");
  const kernels::AttentionDims dims{qs[1], ks[1], qs[2]};
  kernels::KvPool pool;
  if (cache == nullptr) {
    pool.k = Tensor::empty({plan->tiles, dims.kv_heads, dims.head_dim, kernels::kKeyTile}, k.value.dtype(), exec);
    pool.v = Tensor::empty({plan->tiles, dims.kv_heads, kernels::kKeyTile, dims.head_dim}, v.value.dtype(), exec);
  }
  kernels::KvPool& target = cache == nullptr ? pool : *cache;
  kernels::kv_store(exec, dims, k.value, v.value, plan->runs, target);
  Tensor out = Tensor::empty(qs, q.value.dtype(), exec);
  Tensor lse;
  if (tape.recording()) { lse = Tensor::empty({qs[0], qs[1]}, q.value.dtype(), exec); }
  kernels::attention_forward(exec, dims, scale, q.value, plan->runs, target, out, tape.recording() ? &lse : nullptr);
  return tape.record("attention", out, {q, k, v},
                     [dims, scale, plan, pool, lse, out, q = q.value, k = k.value, v = v.value, exec](Tensor dout, std::span<GradSlot> in) {
                       MINIRL_CHECK(in[0].wanted() && in[1].wanted() && in[2].wanted(), "attention differentiates all three inputs");
                       kernels::attention_backward(exec, dims, scale, q, k, v, plan->runs, pool, out, lse, dout, in[0].accumulator(),
                                                   in[1].accumulator(), in[2].accumulator());
                     });
}

}  // namespace minirl::ops
