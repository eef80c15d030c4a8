// minirl audit/bounds.h -- how tight the DPPO paper's improvement bounds are, on problems small enough
// that every response can be listed; and a policy change that Binary divergences cannot see.
// docs/math/bounds.md.
#pragma once
#include <string>
#include <vector>

#include "core/error.h"

namespace minirl::audit {

/// A tree of responses: V tokens at each of T positions, softmax policies mu and pi with a table of
/// logits per prefix, a reward in [0, 1] per response. Everything is drawn from `seed`.
struct BoundProblem {
  Index vocabulary = 3, length = 4;
  double change = 0.3;  // standard deviation of the logits' change from mu to pi
  std::uint64_t seed = 1;
};

/// Exact quantities by enumeration of all V^T responses.
struct BoundMeasure {
  BoundProblem problem;
  double improvement = 0;    // J(pi) - J(mu)                                              (bnd.1)
  double surrogate = 0;      // L'_mu(pi)                                                  (bnd.2)
  double residual = 0;       // Delta = L' - (J(pi) - J(mu))                               (bnd.3)
  double residual_direct = 0;  // the same from its own sum over tails: must agree
  double tv_max = 0;         // largest total variation of a prefix
  double tv_sum = 0;         // expectation under mu of the sum over positions
  double reward_max = 0;     // xi
  double penalty_max = 0;    // 2 xi T (T - 1) tv_max^2                                    (bnd.4)
  double penalty_mean = 0;   // 4 xi tv_sum                                                (bnd.5)
};
BoundMeasure measure_bounds(const BoundProblem& problem);

/// The grid of docs/experiments/bounds.md: lengths, changes, `draws` problems each.
std::vector<BoundMeasure> bound_grid(int draws);
std::string bounds_markdown(const std::vector<BoundMeasure>& measures, const std::string& command);

/// One position where mu and pi give the sampled token the same probability while the rest of the head
/// is reshuffled: what each divergence says, what each loss does, and what one update along the kept
/// gradients does to the expected reward.
std::string binary_blind_markdown(const std::string& command);

}  // namespace minirl::audit
