// minirl rl/algorithms/pg_is.cpp -- policy gradient with importance sampling: no trust region at
// all.
//   g = -A r                                                                              (pgis.1)
#include "rl/algorithm_registry.h"
#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

class PgIs final : public TokenAlgorithm {
 public:
  explicit PgIs(const WeightOptions& weight)
      : TokenAlgorithm(masked_traits(Anchor::rollout, weight.anchor)), weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    TokenResult out = masked_result(t, weight_, 0);
    out.divergence = binary_tv(t.at(weight_.anchor).p, t.pi);
    return out;
  }
  WeightRange weight_range() const override {
    return {1, 1, false,
            "w = 1 for every token: there is no trust region, nothing is masked or reversed"};
  }

 private:
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "pg_is",
    .summary = "importance-sampled policy gradient, no mask and no cap",
    .formula = "g = -A r, r = pi/mu (pgis.1)",
    .page = "pg_is.md",
    .traits = {},
    .params = {weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      WeightOptions weight;
      weight.anchor = anchor_param(p, "weight_anchor");
      return std::make_unique<PgIs>(weight);
    },
});

}  // namespace
}  // namespace minirl::rl
