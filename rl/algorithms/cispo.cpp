// minirl rl/algorithms/cispo.cpp -- CISPO, also called PG-TIS: the detached ratio is truncated,
// nothing is masked.
//   g = -A clamp(r, floor, cap)                                                         (cispo.1)
#include <cmath>

#include "rl/algorithms/masked.h"
#include "rl/divergence.h"

namespace minirl::rl {
namespace {

class Cispo final : public TokenAlgorithm {
 public:
  explicit Cispo(const WeightOptions& weight)
      : TokenAlgorithm(masked_traits(weight.anchor, weight.anchor)), weight_(weight) {}

  TokenResult token(const TokenInput& t) const override {
    TokenResult out = masked_result(t, weight_, 0);
    out.divergence = binary_tv(t.at(weight_.anchor).p, t.pi);
    return out;
  }
  WeightRange weight_range() const override {
    return {
        0, weight_.floor > 0 ? kInfinity : 1, false,
        fmt::format("w = clamp(r, {}, {}) / r: no token is masked or reversed{}", weight_.floor,
                    weight_.cap,
                    weight_.floor > 0 ? "; the floor amplifies tokens whose probability collapsed"
                                      : "; tokens above the cap are damped")};
  }

 private:
  WeightOptions weight_;
};

const bool registered = register_algorithm({
    .name = "cispo",
    .summary = "policy gradient with the detached ratio truncated (PG-TIS); no mask",
    .formula = "g = -A clamp(r, floor, cap) (cispo.1)",
    .page = "cispo.md",
    .traits = {},
    .params = {real_spec("cap", 3.0, or_word(or_infinity(above(0)), "off", kInfinity),
                         "upper limit of the detached ratio; absolute, not 1 + eps; usual: 3 to 5"),
               real_spec("floor", 0.0, from_below(0, 1),
                         "lower limit of the detached ratio; 0: none"),
               weight_anchor_spec()},
    .make = [](const ParamMap& p) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Cispo>(WeightOptions{anchor_param(p, "weight_anchor"),
                                                   real_param(p, "cap"), real_param(p, "floor")});
    },
});

}  // namespace
}  // namespace minirl::rl
