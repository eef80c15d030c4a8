// Order, union, intersection and complement of sets of intervals.
#include "rl/verifier/equal.h"
#include "rl/verifier/number_set.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::size_t kMostIntervals = 48;

}  // namespace

int NumberSets::order_low(const Interval& a, const Interval& b) {
  if (a.low == kInfinite || b.low == kInfinite) {
    return a.low == b.low ? 0 : a.low == kInfinite ? -1 : 1;
  }
  const int c = equality_.order(a.low, b.low);
  return c != 0 ? c : static_cast<int>(a.low_open) - static_cast<int>(b.low_open);
}
int NumberSets::order_high(const Interval& a, const Interval& b) {
  if (a.high == kInfinite || b.high == kInfinite) {
    return a.high == b.high ? 0 : a.high == kInfinite ? 1 : -1;
  }
  const int c = equality_.order(a.high, b.high);
  return c != 0 ? c : static_cast<int>(b.high_open) - static_cast<int>(a.high_open);
}

NumberSet NumberSets::tidy(NumberSet s) {
  if (s.size() > kMostIntervals) {
    throw Stop{"too many intervals"};
  }
  NumberSet kept;
  for (const Interval& i : s) {
    if (i.low != kInfinite && i.high != kInfinite) {
      const int c = equality_.order(i.low, i.high);
      if (c > 0 || (c == 0 && (i.low_open || i.high_open))) {
        continue;
      }
    }
    kept.push_back(i);
  }
  // Insertion sort: the order may throw, and the sets are small.
  for (std::size_t i = 1; i < kept.size(); ++i) {
    for (std::size_t j = i; j > 0 && order_low(kept[j], kept[j - 1]) < 0; --j) {
      std::swap(kept[j], kept[j - 1]);
    }
  }
  NumberSet out;
  for (const Interval& next : kept) {
    if (!out.empty()) {
      Interval& last = out.back();
      bool touches = last.high == kInfinite || next.low == kInfinite;
      if (!touches) {
        const int c = equality_.order(next.low, last.high);
        touches = c < 0 || (c == 0 && !(next.low_open && last.high_open));
      }
      if (touches) {
        if (order_high(next, last) > 0) {
          last.high = next.high;
          last.high_open = next.high_open;
        }
        continue;
      }
    }
    out.push_back(next);
  }
  return out;
}

NumberSet NumberSets::meet(const NumberSet& a, const NumberSet& b) {
  NumberSet out;
  for (const Interval& x : a) {
    for (const Interval& y : b) {
      budget_.spend(10);
      const Interval& low = order_low(x, y) > 0 ? x : y;
      const Interval& high = order_high(x, y) < 0 ? x : y;
      out.push_back({low.low, high.high, low.low_open, high.high_open});
    }
  }
  return tidy(std::move(out));
}

NumberSet NumberSets::complement(const NumberSet& s) {
  NumberSet out;
  Interval gap;
  for (const Interval& i : s) {
    if (i.low != kInfinite) {
      gap.high = i.low;
      gap.high_open = !i.low_open;
      out.push_back(gap);
    }
    if (i.high == kInfinite) {
      return tidy(std::move(out));
    }
    gap.low = i.high;
    gap.low_open = !i.high_open;
  }
  gap.high = kInfinite;
  gap.high_open = true;
  out.push_back(gap);
  return tidy(std::move(out));
}

bool NumberSets::same(const NumberSet& a, const NumberSet& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (order_low(a[i], b[i]) != 0 || order_high(a[i], b[i]) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace minirl::rl::verifier
