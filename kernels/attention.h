#pragma once
#include <span>
#include "core/exec.h"
#include "core/tensor.h"
namespace minirl::kernels {
inline constexpr Index kKeyTile = 32;
struct AttentionDims { Index q_heads, kv_heads, head_dim; };
struct KvPool { Tensor k, v; };
struct QueryRun { Index first_row, rows, first_position; const int* tiles; };
void kv_store(const Exec&, const AttentionDims&, const Tensor&, const Tensor&, std::span<const QueryRun>, KvPool&);
void attention_forward(const Exec&, const AttentionDims&, double, const Tensor&, std::span<const QueryRun>, const KvPool&, Tensor&, Tensor*);
void attention_backward(const Exec&, const AttentionDims&, double, const Tensor&, const Tensor&, const Tensor&, std::span<const QueryRun>, const KvPool&, const Tensor&, const Tensor&, const Tensor&, Tensor&, Tensor&, Tensor&);
}
