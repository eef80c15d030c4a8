#include "rl/divergence.h"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "core/fmath.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {
constexpr double kClosedForm = 1e-13;
}

TEST_CASE("rl/divergence: Binary TV and KL of every token of the vectors") {
  for (const Json& t : vectors().at("tokens")) {
    const double mu = t.at("mu");
    const double pi = t.at("pi");
    CHECK(near(binary_tv(mu, pi), t.at("D_tv"), kClosedForm));
    CHECK(near(binary_kl(mu, fmath::log(mu), fmath::log(pi)), t.at("D_kl"), kClosedForm));
  }
}

TEST_CASE("rl/divergence: Top-K over K + 2 classes, and what replacing the last entry would give") {
  const auto mu = vectors().at("topk").at("mu").get<std::vector<double>>();
  const auto pi = vectors().at("topk").at("pi").get<std::vector<double>>();
  std::vector<std::size_t> order(mu.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return mu[a] > mu[b]; });
  for (const Json& row : vectors().at("topk").at("rows")) {
    CAPTURE(row.dump());
    const auto a = row.at("a").get<std::size_t>();
    auto k = row.at("K").get<std::size_t>();
    bool has_sampled = std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k),
                                 a) != order.begin() + static_cast<std::ptrdiff_t>(k);
    if (row.at("mode") == "replace-last" && !has_sampled) {
      k -= 1;
    }  // K - 1 of the most likely, then the sampled one
    std::vector<double> head_mu;
    std::vector<double> head_pi;
    for (std::size_t i = 0; i < k; ++i) {
      head_mu.push_back(mu[order[i]]);
      head_pi.push_back(pi[order[i]]);
    }
    const TopkDivergence d = topk_divergence(head_mu, head_pi, has_sampled, mu[a], pi[a]);
    CHECK(near(d.tv, row.at("tv"), kClosedForm));
    CHECK(near(d.kl, row.at("kl"), kClosedForm));
    CHECK(near(binary_tv(mu[a], pi[a]), row.at("bin_tv"), kClosedForm));
    // Binary <= Top-K <= full (grouping classes only loses divergence).
    CHECK(d.tv >= binary_tv(mu[a], pi[a]) - kClosedForm);
    CHECK(d.tv <= vectors().at("topk").at("full_tv").get<double>() + kClosedForm);
    CHECK(d.kl <= vectors().at("topk").at("full_kl").get<double>() + kClosedForm);
  }
}

TEST_CASE("rl/divergence: equal policies have divergence exactly 0, also with a probability of 1") {
  for (const double log_p : {-3.0, -1e-9, 0.0, 1e-7}) {
    CHECK(binary_kl(probability(log_p), log_p, log_p) == 0);
    CHECK(binary_tv(probability(log_p), probability(log_p)) == 0);
  }
  const std::vector<float> head{-0.5F, -1.5F};
  const TopkDivergence d = topk_divergence(head, head, true, 0.6, 0.6);
  CHECK(d.tv == 0);
  CHECK(d.kl == 0);
}

TEST_CASE(
    "rl/divergence: the complement of a probability near 1 is exact to the floor and no further") {
  CHECK(near(log_complement(fmath::log(.25)), std::log(.75), 1e-15));
  CHECK(near(log_complement(-1e-7), std::log(1e-7), 1e-7));
  CHECK(log_complement(0.0) == fmath::log(kComplementFloor));
  CHECK(log_complement(1e-6) == fmath::log(kComplementFloor));
  CHECK(log_complement(-1e-12) == fmath::log(kComplementFloor));
  CHECK(std::isfinite(binary_kl(.3, fmath::log(.3), 0.0)));
}

}  // namespace minirl::rl::test
