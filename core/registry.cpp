#include "core/registry.h"

#include <algorithm>
#include <numeric>

namespace minirl {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  int best_distance = static_cast<int>(std::max<std::size_t>(2, name.size() / 3)) + 1;
  for (const auto& k : known) {
    const bool contained = name.size() >= 4 && (k.find(name) != std::string::npos || name.find(k) != std::string_view::npos);
    const int d = contained ? 1 : edit_distance(name, k);
    if (d < best_distance || (d == best_distance && !best.empty() && k.size() < best.size())) {
      best_distance = d;
      best = k;
    }
  }
  return best;
}

}  // namespace minirl
