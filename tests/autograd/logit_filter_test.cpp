#include "autograd/logit_filter.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace minirl::ops {
namespace {

std::vector<int> kept(std::vector<float> logits, double temperature, Index top_k, double top_p) {
  const std::vector<float> before = logits;
  filter_logits(logits.data(), static_cast<Index>(logits.size()), temperature, top_k, top_p);
  std::vector<int> out;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == -std::numeric_limits<float>::infinity()) {
      continue;
    }
    CHECK(logits[i] == before[i]);
    out.push_back(static_cast<int>(i));
  }
  return out;
}

float log_of(double p) {
  return static_cast<float>(std::log(p));
}

}  // namespace

TEST_CASE("autograd/logit_filter: top-k keeps the largest, of equal ones the lowest ids") {
  const std::vector<float> l = {1, 3, 2, 3, 0};
  CHECK(kept(l, 1, 0, 1) == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(kept(l, 1, 1, 1) == std::vector<int>{1});
  CHECK(kept(l, 1, 2, 1) == std::vector<int>{1, 3});
  CHECK(kept(l, 1, 3, 1) == std::vector<int>{1, 2, 3});
  CHECK(kept(l, 1, 99, 1) == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(kept({5, 5, 5}, 1, 2, 1) == std::vector<int>{0, 1});
}

TEST_CASE(
    "autograd/logit_filter: top-p keeps the fewest that reach the probability, at the "
    "temperature") {
  const std::vector<float> l = {log_of(0.1), log_of(0.5), log_of(0.15), log_of(0.25)};
  CHECK(kept(l, 1, 0, 0.4) == std::vector<int>{1});
  CHECK(kept(l, 1, 0, 0.6) == std::vector<int>{1, 3});
  CHECK(kept(l, 1, 0, 0.8) == std::vector<int>{1, 2, 3});
  CHECK(kept(l, 1, 0, 0.95) == std::vector<int>{0, 1, 2, 3});
  CHECK(kept(l, 1, 0, 1e-9) == std::vector<int>{1});  // never nothing
  // Colder: 0.25 and 0.5 squared are 1 to 4, so the first alone reaches 0.7.
  CHECK(kept(l, 0.5, 0, 0.7) == std::vector<int>{1});
  CHECK(kept(l, 1, 0, 0.7) == std::vector<int>{1, 3});
}

TEST_CASE("autograd/logit_filter: top-p counts within what top-k kept") {
  const std::vector<float> l = {log_of(0.1), log_of(0.5), log_of(0.15), log_of(0.25)};
  // Of the two that are left the first has 2/3.
  CHECK(kept(l, 1, 2, 0.6) == std::vector<int>{1});
  CHECK(kept(l, 1, 2, 0.7) == std::vector<int>{1, 3});
}

}  // namespace minirl::ops
