#include "rl/rollout_correction.h"

#include <array>

#include "core/fmath.h"
#include "core/registry.h"

namespace minirl::rl {
namespace {

constexpr std::array<std::string_view, 7> kNames{"none",         "tis",    "tis-sequence",  "mis",
                                                 "mis-sequence", "icepop", "geometric-mask"};

double limited_exp(double x) {
  return fmath::exp(x > kLogRatioLimit ? kLogRatioLimit
                                       : (x < -kLogRatioLimit ? -kLogRatioLimit : x));
}

}  // namespace

std::string_view correction_name(CorrectionKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}
std::vector<std::string> correction_names() {
  return {kNames.begin(), kNames.end()};
}

CorrectionKind correction_from_name(std::string_view name) {
  std::string list;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<CorrectionKind>(i);
    }
    list += (list.empty() ? "" : ", ") + std::string(kNames[i]);
  }
  const std::string near = nearest_name(name, correction_names());
  fail(Exit::usage, fmt::format("unknown rollout correction '{}'", name),
       (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + "known: " + list);
}

CorrectionOptions usual_correction(CorrectionKind kind) {
  CorrectionOptions out;
  out.kind = kind;
  if (kind == CorrectionKind::mis || kind == CorrectionKind::mis_sequence) {
    out.cap = 3;
  }
  if (kind == CorrectionKind::geometric_mask) {
    out.low = 0.999;
    out.high = 1.001;
  }
  return out;
}

void check_correction(std::string_view algorithm, const Traits& traits,
                      const CorrectionOptions& options) {
  if (options.kind == CorrectionKind::none) {
    return;
  }
  if (traits.weight_anchor == Anchor::rollout) {
    fail(Exit::usage,
         fmt::format("the rollout correction '{}' cannot be combined with '{}': its weight is "
                     "pi/mu already, and "
                     "pi/mu = (pi/pi_old) (pi_old/mu) would hold pi_old/mu twice",
                     correction_name(options.kind), algorithm),
         "set the correction to none, or anchor the loss at pi_old (anchor or weight_anchor = "
         "recomputed)");
  }
  if (!(options.cap > 0) || !(options.low >= 0) || !(options.high >= options.low)) {
    fail(Exit::usage,
         fmt::format("rollout correction '{}': cap {}, low {}, high {}",
                     correction_name(options.kind), options.cap, options.low, options.high),
         "cap must be above 0, and 0 <= low <= high");
  }
}

std::vector<double> correction_weights(const CorrectionOptions& options,
                                       std::span<const TokenInput> tokens) {
  std::vector<double> out;
  double sum = 0;
  double count = 0;
  for (const TokenInput& t : tokens) {
    if (options.kind == CorrectionKind::none || !t.active) {
      out.push_back(t.active ? 1 : 0);
      continue;
    }
    MINIRL_CHECK(t.has_recomputed, "the rollout correction needs log pi_old");
    const double log_rho = t.recomputed.log_p - t.rollout.log_p;
    out.push_back(limited_exp(log_rho));
    sum += log_rho;
    count += 1;
  }
  if (options.kind == CorrectionKind::none || count == 0) {
    return out;
  }
  const double product = limited_exp(sum);
  const double geometric = limited_exp(sum / count);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (!tokens[t].active) {
      continue;
    }
    double& w = out[t];
    switch (options.kind) {
      case CorrectionKind::none:
        break;
      case CorrectionKind::tis:
        w = w > options.cap ? options.cap : w;
        break;
      case CorrectionKind::tis_sequence:
        w = product > options.cap ? options.cap : product;
        break;
      case CorrectionKind::mis:
        w = w > options.cap ? 0 : w;
        break;
      case CorrectionKind::mis_sequence:
        w = product > options.cap ? 0 : product;
        break;
      case CorrectionKind::icepop:
        w = w < options.low || w > options.high ? 0 : w;
        break;
      case CorrectionKind::geometric_mask:
        w = geometric < options.low || geometric > options.high ? 0 : w;
        break;
    }
  }
  return out;
}

void apply_correction(std::span<const double> weights, std::span<TokenResult> results) {
  MINIRL_CHECK(weights.size() == results.size(), "{} weights, {} results", weights.size(),
               results.size());
  for (std::size_t t = 0; t < results.size(); ++t) {
    TokenResult& r = results[t];
    if ((r.reasons & MaskReason::loss_mask) != 0) {
      continue;
    }
    if (weights[t] == 0) {
      r.reasons |= MaskReason::correction_masked;
    }
    r.loss = r.loss * weights[t] + 0.0;
    r.dlogp = r.dlogp * weights[t] + 0.0;
    r.weight *= weights[t];
    r.penalty *= weights[t];
  }
}

}  // namespace minirl::rl
