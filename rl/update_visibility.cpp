#include "rl/update_visibility.h"

#include <atomic>

#include "core/parallel.h"

namespace minirl::rl {
namespace {

constexpr Index kGrain = 16384;

Bf16 rounded(float value) {
  return to_bf16(value);
}
Bf16 rounded(Bf16 value) {
  return value;
}

// Calls use(data pointer of the stored type).
template <class F>
void with_values(const Param& p, const F& use) {
  const Tensor value = p.value.on_host();
  if (value.dtype() == DType::bf16) {
    use(value.data<Bf16>());
  } else {
    use(value.data<float>());
  }
}

}  // namespace

void Bf16View::take(const Params& params, const Exec& exec) {
  values_.resize(params.all().size());
  std::size_t i = 0;
  for (const Param& p : params.all()) {
    std::vector<Bf16>& view = values_[i++];
    view.resize(static_cast<std::size_t>(p.value.numel()));
    with_values(p, [&](const auto* from) {
      parallel_ranges(exec.threads, p.value.numel(), kGrain, [&](Index begin, Index end) {
        for (Index j = begin; j < end; ++j) {
          view[static_cast<std::size_t>(j)] = rounded(from[j]);
        }
      });
    });
  }
}

std::vector<Index> Bf16View::changed(const Params& params, const Exec& exec) const {
  MINIRL_CHECK(values_.size() == params.all().size(), "a view of {} parameters, {} now",
               values_.size(), params.all().size());
  std::vector<Index> out;
  for (const Param& p : params.all()) {
    const std::vector<Bf16>& view = values_[out.size()];
    std::atomic<Index> count = 0;  // of whole numbers: the order does not matter
    with_values(p, [&](const auto* now) {
      parallel_ranges(exec.threads, p.value.numel(), kGrain, [&](Index begin, Index end) {
        Index differ = 0;
        for (Index j = begin; j < end; ++j) {
          differ += rounded(now[j]) == view[static_cast<std::size_t>(j)] ? 0 : 1;
        }
        count += differ;
      });
    });
    out.push_back(count);
  }
  return out;
}

}  // namespace minirl::rl
