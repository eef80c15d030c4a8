// minirl rl/tripwires.h -- claims that are checked while a run computes, always. A tripwire that is
// touched stops the run with exit 4 before anything is updated; its message names its section of
// docs/audit.md. Each is a function of what it looks at, so that tests can plant the fault.
#pragma once
#include <span>
#include <string_view>

#include "rl/advantage.h"
#include "rl/policy_update.h"
#include "rl/rollout.h"

namespace minirl::rl {

/// Names as messages and docs/audit.md have them.
std::span<const std::string_view> tripwire_names();

namespace tripwire {

/// "finite": every log-probability is a finite number. `what`: "log pi".
void finite_logp(std::span<const float> logp, std::string_view what);
/// ... and so is the loss.
void finite_loss(double loss);

/// "first-update ratio": at the weights that sampled, log pi has the bits of log mu.
void first_update_ratio(const TrainItem& item, std::span<const float> logp);

/// "group advantages": the advantages of a group add up to 0, for the estimators that centre them
/// (group-mean, rloo, maxrl, gpg). Rounding may leave n 2^-49 (sum |A| + f sum |R|), f = the slope
/// of A over R; a group whose advantages are all equal must have exactly 0.
void group_advantages(std::span<const Group> groups, const AdvantageOptions& options);

/// "stop token": a completion that ended with a stop token trains it: it is the last of its tokens,
/// it is scored, and it is in the loss unless the completion is left out as a whole. `end_tokens`
/// empty: which token it is is not looked at.
void stop_token(const TrainItem& item, std::span<const TokenInput> tokens,
                std::span<const Token> end_tokens);

/// "masked gradient", of the loss alone: a token that is left out or that the loss says to have
/// masked has d loss / d log pi exactly 0.
void masked_gradient(std::span<const TokenInput> tokens,
                     std::span<const TokenResult> results);
/// ... and with every term added: what the backward pass gets for a token that is left out is 0.
void masked_seeds(const TrainItem& item, std::span<const TokenInput> tokens,
                  std::span<const float> dlogp, std::span<const float> dentropy);

/// "loss shares": the loss is the sum of the shares of its tokens. Adds with a running correction,
/// in the order given; the plain sum must agree within its own rounding, n 2^-52 sum |share|.
class LossShares {
 public:
  void add(double share);
  /// Throws where `loss` is another number.
  void check(double loss) const;
  double sum() const { return sum_ + correction_; }

 private:
  double sum_ = 0, correction_ = 0, absolute_ = 0, count_ = 0;
};

/// "token trail": rows of a full trail, added in their order, are the loss that is logged, to the
/// bit.
void trail_loss(Index step, double rows, double logged);

}  // namespace tripwire
}  // namespace minirl::rl
