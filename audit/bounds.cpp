#include "audit/bounds.h"

#include <algorithm>
#include <cmath>

#include "core/fmath.h"
#include "core/rng.h"
#include "rl/algorithm_registry.h"
#include "rl/divergence.h"

namespace minirl::audit {
namespace {

std::vector<double> softmax(const std::vector<double>& logits) {
  double top = logits[0];
  for (const double z : logits) { top = std::max(top, z); }
  double total = 0;
  std::vector<double> p;
  for (const double z : logits) {
    p.push_back(fmath::exp(z - top));
    total += p.back();
  }
  for (double& x : p) { x /= total; }
  return p;
}

double total_variation(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) { sum += std::fabs(a[j] - b[j]); }
  return sum / 2;
}

// Both policies and the rewards of one problem: every number is a function of its place in the tree.
class Tree {
 public:
  explicit Tree(const BoundProblem& p) : problem_(p), key_(rng::Key::of(p.seed, rng::Stream::test).derive(0x626f756e6473)) {}

  std::pair<std::vector<double>, std::vector<double>> policies(std::uint64_t prefix, Index depth) const {
    rng::Random random(key_.derive(static_cast<std::uint64_t>(depth) + 1, prefix));
    std::vector<double> mu;
    std::vector<double> pi;
    for (Index j = 0; j < problem_.vocabulary; ++j) {
      mu.push_back(random.normal());
      const double change = random.normal();
      pi.push_back(mu.back() + problem_.change * change);
    }
    return {softmax(mu), softmax(pi)};
  }
  double reward(std::uint64_t response) const { return rng::Random(key_.derive(0, response)).uniform(); }

 private:
  BoundProblem problem_;
  rng::Key key_;
};

struct Walk {
  double mu = 1, pi = 1;         // of the prefix
  double first_order = 0;        // sum of (r_t - 1)
  std::vector<double> ratios;
};

class Enumeration {
 public:
  Enumeration(const BoundProblem& p, BoundMeasure& out) : problem_(p), tree_(p), out_(out) {}
  void run() { visit(0, 0, {}); }

 private:
  void visit(std::uint64_t prefix, Index depth, const Walk& walk) {
    if (depth == problem_.length) {
      leaf(prefix, walk);
      return;
    }
    const auto [mu, pi] = tree_.policies(prefix, depth);
    const double tv = total_variation(mu, pi);
    out_.tv_max = std::max(out_.tv_max, tv);
    out_.tv_sum += walk.mu * tv;
    for (std::size_t j = 0; j < mu.size(); ++j) {
      Walk next = walk;
      next.mu *= mu[j];
      next.pi *= pi[j];
      next.ratios.push_back(pi[j] / mu[j]);
      next.first_order += next.ratios.back() - 1;
      visit(prefix * static_cast<std::uint64_t>(problem_.vocabulary) + j, depth + 1, next);
    }
  }
  void leaf(std::uint64_t response, const Walk& walk) {
    const double reward = tree_.reward(response);
    out_.reward_max = std::max(out_.reward_max, std::fabs(reward));
    out_.improvement += (walk.pi - walk.mu) * reward;             // (bnd.1)
    out_.surrogate += walk.mu * reward * walk.first_order;        // (bnd.2)
    double tail = 1;
    double residual = 0;
    for (std::size_t t = walk.ratios.size(); t-- > 0;) {
      residual += (walk.ratios[t] - 1) * (1 - tail);              // (bnd.3)
      tail *= walk.ratios[t];
    }
    out_.residual_direct += walk.mu * reward * residual;
  }
  const BoundProblem& problem_;
  Tree tree_;
  BoundMeasure& out_;
};

}  // namespace

BoundMeasure measure_bounds(const BoundProblem& p) {
  MINIRL_CHECK(p.vocabulary >= 2 && p.length >= 1 && p.change >= 0, "V = {}, T = {}, change = {}", p.vocabulary, p.length, p.change);
  BoundMeasure out;
  out.problem = p;
  Enumeration(p, out).run();
  out.residual = out.surrogate - out.improvement;
  const auto T = static_cast<double>(p.length);
  out.penalty_max = 2 * out.reward_max * T * (T - 1) * out.tv_max * out.tv_max;  // (bnd.4)
  out.penalty_mean = 4 * out.reward_max * out.tv_sum;                            // (bnd.5)
  return out;
}

std::vector<BoundMeasure> bound_grid(int draws) {
  std::vector<BoundMeasure> out;
  for (const Index length : {2, 4, 8}) {
    for (const double change : {0.01, 0.03, 0.1, 0.3, 1.0}) {
      for (int draw = 1; draw <= draws; ++draw) { out.push_back(measure_bounds({3, length, change, static_cast<std::uint64_t>(draw)})); }
    }
  }
  return out;
}

std::string bounds_markdown(const std::vector<BoundMeasure>& measures, const std::string& command) {
  std::string out = fmt::format(
      "# How tight are the improvement bounds?\n\nThe DPPO paper bounds the improvement of a policy from below by its first-order surrogate minus a penalty (docs/math/bounds.md):\n"
      "(bnd.4) with the largest total variation of any prefix, (bnd.5) with the sum of total variations along the response. Here every\n"
      "response of a small random problem is listed (V = 3 tokens, T positions, softmax tables, rewards uniform in [0, 1]), so J, the surrogate and\n"
      "the residual are exact. Made by `{}`; medians over {} problems a row.\n\n"
      "- *residual*: |surrogate - (J(pi) - J(mu))|, what the penalty has to cover.\n- *penalty / residual*: 1 would be tight.\n"
      "- *certifies*: share of the problems with J(pi) > J(mu) in which the bound says so.\n\n"
      "| T | change of logits | mean TV per position | residual | penalty (bnd.4) / residual | penalty (bnd.5) / residual | certifies (bnd.4) | certifies (bnd.5) |\n|---|---|---|---|---|---|---|---|\n",
      command, measures.empty() ? 0 : std::count_if(measures.begin(), measures.end(), [&](const BoundMeasure& m) { return m.problem.length == measures[0].problem.length && m.problem.change == measures[0].problem.change; }));
  const auto median = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
  };
  std::size_t begin = 0;
  std::size_t broken = 0;
  while (begin < measures.size()) {
    std::size_t end = begin;
    std::vector<double> tv;
    std::vector<double> residual;
    std::vector<double> loose_max;
    std::vector<double> loose_mean;
    double better = 0;
    double certified_max = 0;
    double certified_mean = 0;
    while (end < measures.size() && measures[end].problem.length == measures[begin].problem.length && measures[end].problem.change == measures[begin].problem.change) {
      const BoundMeasure& m = measures[end++];
      tv.push_back(m.tv_sum / static_cast<double>(m.problem.length));
      residual.push_back(std::fabs(m.residual));
      loose_max.push_back(m.penalty_max / std::fabs(m.residual));
      loose_mean.push_back(m.penalty_mean / std::fabs(m.residual));
      better += m.improvement > 0 ? 1 : 0;
      certified_max += m.surrogate - m.penalty_max > 0 ? 1 : 0;
      certified_mean += m.surrogate - m.penalty_mean > 0 ? 1 : 0;
      broken += m.improvement < m.surrogate - m.penalty_max - 1e-12 || m.improvement < m.surrogate - m.penalty_mean - 1e-12 ? 1 : 0;
    }
    const auto share = [&](double n) { return better > 0 ? fmt::format("{:.0f} %", 100 * n / better) : std::string("-"); };
    out += fmt::format("| {} | {} | {:.4f} | {:.2e} | {:.3g} | {:.3g} | {} | {} |\n", measures[begin].problem.length, measures[begin].problem.change, median(tv), median(residual), median(loose_max), median(loose_mean),
                       share(certified_max), share(certified_mean));
    begin = end;
  }
  out += fmt::format(
      "\nBoth bounds held in {} of {} problems. The residual is of second order in the change of the policy, the penalty (bnd.4) too, and (bnd.5) only of\n"
      "first order: halving the change makes (bnd.5) twice as loose, and it never certifies a small step here. (bnd.4) does, but with T (T - 1) in front.\n"
      "The numbers support the trust region as a direction, not its thresholds: at the divergences that are used in practice (0.15 to 0.2 a token) neither bound says anything.\n",
      measures.size() - broken, measures.size());
  return out;
}

std::string binary_blind_markdown(const std::string& command) {
  // One position, four tokens. The sampled one hardly moves; half of the head changes places.
  const std::vector<double> mu = {0.45, 0.45, 0.08, 0.02};
  const std::vector<double> pi = {0.84, 0.05, 0.085, 0.025};
  const std::size_t sampled = 2;
  const double advantage = 1;
  std::string out = fmt::format(
      "# Where Binary is blind and Top-K is not\n\nOne position, four tokens, made by `{}`. The rollout policy was undecided between a and b; after some updates (of other\n"
      "positions, through shared weights) the live policy is sure of a. The sampled token c has hardly moved, in the direction of its advantage A = {:g}.\n\n"
      "| token | mu | pi | pi - mu |\n|---|---|---|---|\n",
      command, advantage);
  const char* names = "abcd";
  for (std::size_t j = 0; j < mu.size(); ++j) { out += fmt::format("| {}{} | {} | {} | {:+.3f} |\n", names[j], j == sampled ? " (sampled)" : "", mu[j], pi[j], pi[j] - mu[j]); }
  out += fmt::format("\nFull total variation {:.3f}. What the estimates see of it:\n\n| estimate | TV | KL (nats) |\n|---|---|---|\n| Binary: c against everything else | {:.3f} | {:.5f} |\n", total_variation(mu, pi), rl::binary_tv(mu[sampled], pi[sampled]),
                     rl::binary_kl(mu[sampled], fmath::log(mu[sampled]), fmath::log(pi[sampled])));
  rl::TopkDivergence two;
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
    const rl::TopkDivergence d = rl::topk_divergence(std::span(mu).first(k), std::span(pi).first(k), false, mu[sampled], pi[sampled]);
    out += fmt::format("| Top-K, K = {} | {:.3f} | {:.5f} |\n", k, d.tv, d.kl);
    two = d;
  }
  rl::TokenInput token = rl::TokenInput::from_probabilities(pi[sampled], mu[sampled], advantage, mu[sampled]);
  token.rollout.topk_tv = two.tv;
  token.rollout.topk_kl = two.kl;
  token.recomputed = token.rollout;
  out += "\n| loss | threshold | decision | w |\n|---|---|---|---|\n";
  for (const char* name : {"ppo", "dppo_tv", "dppo_kl", "drpo_tv", "dppo_topk_tv", "dppo_topk_kl"}) {
    ParamMap params;
    const rl::AlgorithmInfo info = rl::algorithm_info(name);
    bind_params(name, info.params, params);
    const auto loss = rl::make_algorithm(name, params);
    rl::TokenResult r;
    loss->evaluate_tokens(std::span(&token, 1), std::span(&r, 1));
    const auto delta = params.find("delta");
    out += fmt::format("| {} | {} | {} | {:.4f} |\n", name, delta == params.end() ? "ratio 0.8 to 1.2" : "delta = " + to_toml(delta->second.value), r.masked() ? "masked" : "kept", r.weight);
  }
  out += "\nThe ratio and both Binary estimates keep the token with (nearly) full weight although the distribution at this position has moved by 0.4; Top-K with\n"
         "K = 2 masks it. The sampled token alone cannot tell: mu(c) and pi(c) are all that Binary is given, and they are nearly equal. How often this happens depends on\n"
         "how much of the mass lies on tokens that were not sampled: the expected Binary TV under mu is sum_j mu_j |pi_j - mu_j|, here ";
  double expected = 0;
  for (std::size_t j = 0; j < mu.size(); ++j) { expected += mu[j] * std::fabs(pi[j] - mu[j]); }
  out += fmt::format("{:.3f}, against the full {:.3f}:\nwhen a or b is sampled, which happens 9 times in 10, Binary sees the shift at once. The blind spot is real and rare, which fits the paper's ablation (no gain of Top-K over Binary).\n", expected, total_variation(mu, pi));
  return out;
}

}  // namespace minirl::audit
