#include "autograd/logit_filter.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/fmath.h"

namespace minirl::ops {

template <class T>
void filter_logits(T* logits, Index vocabulary, double temperature, Index top_k, double top_p) {
  const Index most = top_k > 0 ? std::min(top_k, vocabulary) : vocabulary;
  if (most == vocabulary && top_p >= 1) {
    return;
  }
  std::vector<std::int32_t> ids(static_cast<std::size_t>(vocabulary));
  std::iota(ids.begin(), ids.end(), 0);
  // On top of the heap: the largest, of equal ones the lowest id.
  const auto below = [logits](std::int32_t a, std::int32_t b) {
    return logits[a] != logits[b] ? logits[a] < logits[b] : a > b;
  };
  std::make_heap(ids.begin(), ids.end(), below);
  const double largest = static_cast<double>(logits[ids.front()]);
  const auto weight = [&](std::int32_t id) {
    return fmath::exp((static_cast<double>(logits[id]) - largest) / temperature);
  };
  std::vector<std::int32_t> kept;
  auto end = ids.end();
  const auto pop = [&] {
    std::pop_heap(ids.begin(), end, below);
    --end;
    kept.push_back(*end);
  };
  double total = 0;
  if (most < vocabulary) {
    while (static_cast<Index>(kept.size()) < most) {
      pop();
    }
    for (const std::int32_t id : kept) {
      total += weight(id);
    }
  } else {
    for (std::int32_t id = 0; id < vocabulary; ++id) {
      total += weight(id);
    }
  }
  double sum = 0;
  std::size_t count = 0;
  for (; top_p < 1 && sum < top_p * total; ++count) {
    if (count == kept.size()) {
      if (most < vocabulary || static_cast<Index>(kept.size()) == vocabulary) {
        break;
      }
      pop();
    }
    sum += weight(kept[count]);
  }
  if (top_p < 1) {
    kept.resize(std::max<std::size_t>(count, 1));
  }
  std::vector<T> values;
  for (const std::int32_t id : kept) {
    values.push_back(logits[id]);
  }
  std::fill(logits, logits + vocabulary, -std::numeric_limits<T>::infinity());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    logits[kept[i]] = values[i];
  }
}

template void filter_logits<float>(float*, Index, double, Index, double);
template void filter_logits<double>(double*, Index, double, Index, double);

}  // namespace minirl::ops
