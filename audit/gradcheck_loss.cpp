// A whole loss through a whole model, in fp64.
#include <algorithm>
#include <cmath>

#include "audit/gradcheck_model.h"

namespace minirl::audit {
namespace {

constexpr double kTokenStep = 1e-4;  // of a log-probability, nats
// Rounding of a sum of magnitude 1, as a multiple of 2^-52: what a difference cannot tell from 0.
constexpr double kRounding = 16 * 0x1p-52;
// Differences with steps h and 2h of a smooth function agree to O(h^2); where they do not by this
// much, something has an edge between the two.
constexpr double kSmooth = 1e-2;

// f(h) - f(-h) and f(2h) - f(-2h): the five-point stencil, and whether the two sizes agree.
struct Stencil {
  double near = 0, far = 0, step = 0;
  double floor = 0;  // below this a derivative counts as 0
  double derivative() const { return (8 * near - far) / (12 * step); }
  bool smooth() const {
    const double a = near / (2 * step);
    const double b = far / (4 * step);
    return std::fabs(a - b) <= kSmooth * std::max({std::fabs(a), std::fabs(b), floor});
  }
};

struct Forward {
  std::vector<std::vector<double>> logp, entropy;  // (T) of each sequence
  std::vector<std::vector<float>> topk_logp;       // (T, K)
};

// What the loss makes of a forward pass.
struct Evaluated {
  double loss = 0;
  std::vector<std::vector<double>> dlogp;  // aggregated
  std::vector<double> dentropy;            // of each sequence, aggregated
  std::vector<std::uint32_t> reasons;      // of every token: which masks and clips are in force
};

class Loss {
 public:
  Loss(const LossProblem& problem, const Exec& exec) : p_(problem), exec_(exec) {
    for (const rl::TrainItem& item : p_.items) {
      rl::add_sequence(totals_, item.left_out ? 0 : std::ssize(item.rollout->ids),
                       p_.loss.fully_masked);
      joined_.emplace_back(item.group->prompt.begin(), item.group->prompt.end());
      auto& ids = joined_.back();
      ids.insert(ids.end(), item.rollout->ids.begin(), item.rollout->ids.end() - 1);
    }
  }

  Forward forward() {
    Tape tape(false, exec_);
    return split(run(tape));
  }

  // Adds the derivative of the aggregated loss to the gradients of the model.
  void backward(const Evaluated& e) {
    Tape tape(true, exec_);
    const Var out = run(tape);
    Tensor seed = Tensor::zeros(out.value.shape(), DType::f64, exec_);
    double* d = seed.data<double>();
    const Index m = out.value.shape().last();
    Index row = 0;
    for (std::size_t s = 0; s < e.dlogp.size(); ++s) {
      for (const double g : e.dlogp[s]) {
        d[row] = g;
        d[m + row] = e.dentropy[s];
        ++row;
      }
    }
    tape.backward(out, std::move(seed));
  }

  std::vector<rl::TokenInput> tokens(const Forward& f, std::size_t s) const {
    const rl::TrainItem& item = p_.items[s];
    const std::vector<float> logp(f.logp[s].begin(), f.logp[s].end());
    const std::vector<std::uint8_t> mask(item.left_out ? logp.size() : 0, 0);
    const Index k = p_.algorithm->traits().topk;
    const auto has_sampled = rl::topk_has_sampled(*item.rollout, k);
    rl::SequenceView view = rl::frozen_view(item);
    view.logp = logp;
    view.loss_mask = mask;
    view.topk = k;
    view.topk_logp = f.topk_logp[s];
    view.topk_has_sampled = has_sampled;
    auto out = rl::make_tokens(view, p_.algorithm->traits());
    for (std::size_t t = 0; t < out.size(); ++t) {
      set_logp(out[t], f.logp[s][t]);
    }
    return out;
  }

  // The same token at another log pi, in double; top-K divergences stay.
  static void set_logp(rl::TokenInput& token, double log_pi) {
    const rl::TokenInput exact = rl::TokenInput::from_logs(
        log_pi, token.rollout.log_p, token.advantage,
        token.has_recomputed ? std::optional(token.recomputed.log_p) : std::nullopt);
    const auto move = [](rl::TokenInput::AgainstAnchor& to,
                         const rl::TokenInput::AgainstAnchor& from) {
      to.log_p = from.log_p;
      to.p = from.p;
      to.log_ratio = from.log_ratio;
      to.ratio = from.ratio;
    };
    token.log_pi = exact.log_pi;
    token.pi = exact.pi;
    move(token.rollout, exact.rollout);
    if (token.has_recomputed) {
      move(token.recomputed, exact.recomputed);
    }
  }

  double weight(std::size_t s) const {
    const rl::TrainItem& item = p_.items[s];
    return item.left_out ? 0
                         : rl::token_weight(p_.loss.agg_mode, totals_,
                                            std::ssize(item.rollout->ids), p_.loss.horizon);
  }

  Evaluated evaluate(const Forward& f) const {
    Evaluated out;
    rl::UpdateReport report;
    std::vector<rl::TokenResult> results;
    for (std::size_t s = 0; s < p_.items.size(); ++s) {
      const auto in = tokens(f, s);
      const double w = weight(s);
      out.dentropy.push_back(rl::add_sequence_loss(*p_.algorithm, p_.loss, in, f.entropy[s], w,
                                                   p_.items[s].left_out, results, report));
      auto& dlogp = out.dlogp.emplace_back();
      for (const rl::TokenResult& r : results) {
        dlogp.push_back(w * r.dlogp);
        out.reasons.push_back(r.reasons);
      }
    }
    out.loss = report.loss;
    return out;
  }

 private:
  // (2, M): log-probabilities and entropies of all scored tokens.
  Var run(Tape& tape) {
    std::vector<std::span<const Token>> spans;
    std::vector<std::int32_t> rows;
    std::vector<std::int32_t> targets;
    std::vector<std::int32_t> topk;
    Index first = 0;
    for (std::size_t s = 0; s < joined_.size(); ++s) {
      const rl::Rollout& r = *p_.items[s].rollout;
      spans.emplace_back(joined_[s]);
      first += std::ssize(joined_[s]);
      for (std::size_t t = 0; t < r.ids.size(); ++t) {
        rows.push_back(
            static_cast<std::int32_t>(first - std::ssize(r.ids) + static_cast<Index>(t)));
      }
      targets.insert(targets.end(), r.ids.begin(), r.ids.end());
      topk.insert(topk.end(), r.topk_ids.begin(), r.topk_ids.end());
    }
    const auto m = std::ssize(targets);
    ops::LogProbOptions options{
        .temperature = p_.temperature, .entropy = true, .vocabulary = p_.vocabulary};
    const Index k = p_.algorithm->traits().topk;
    if (k > 0) {
      options.topk_ids = Tensor::from<std::int32_t>({m, k}, topk, exec_);
      options.topk_logp = topk_logp_ = Tensor::empty({m, k}, DType::f64, exec_);
    }
    return p_.model->token_logp({tape, nullptr}, pack_sequences(spans, exec_),
                                Tensor::from<std::int32_t>({m}, rows, exec_),
                                Tensor::from<std::int32_t>({m}, targets, exec_), options);
  }

  Forward split(const Var& out) const {
    Forward f;
    const double* values = out.value.data<double>();
    const Index m = out.value.shape().last();
    const Index k = p_.algorithm->traits().topk;
    Index row = 0;
    for (const rl::TrainItem& item : p_.items) {
      const Index n = std::ssize(item.rollout->ids);
      f.logp.emplace_back(values + row, values + row + n);
      f.entropy.emplace_back(values + m + row, values + m + row + n);
      auto& top = f.topk_logp.emplace_back();
      for (Index i = row * k; i < (row + n) * k; ++i) {
        top.push_back(static_cast<float>(topk_logp_.data<double>()[i]));
      }
      row += n;
    }
    return f;
  }

  const LossProblem& p_;
  Exec exec_;
  rl::Totals totals_;
  std::vector<std::vector<Token>> joined_;
  Tensor topk_logp_;
};

// Worst of (analytic, numeric, where) against the largest |numeric| of all.
struct Comparison {
  double analytic = 0, numeric = 0;
  std::string where;
};
void finish(GradRow& row, const std::vector<Comparison>& all, double floor) {
  double scale = floor;
  for (const Comparison& c : all) {
    scale = std::max(scale, std::fabs(c.numeric));
  }
  row.coordinates = std::ssize(all);
  row.worst = 0;
  for (const Comparison& c : all) {
    const double error = scale > 0 ? std::fabs(c.analytic - c.numeric) / scale : 0;
    if (row.where.empty() || !(error <= row.worst)) {  // NaN counts as worst
      row.worst = error;
      row.where = c.where;
      row.analytic = c.analytic;
      row.numeric = c.numeric;
    }
  }
}

// The loss function alone: every token's log pi moved, the loss of its sequence read.
GradRow check_tokens(const LossProblem& problem, const Loss& loss, const Forward& f,
                     double threshold) {
  GradRow row;
  row.kind = GradRow::Kind::loss;
  row.name = fmt::format("{}, per token", problem.algorithm->name());
  std::vector<Comparison> all;
  std::vector<rl::TokenResult> base;
  std::vector<rl::TokenResult> moved;
  double magnitude = 0;
  const auto floor = [&] { return kRounding * magnitude / (kTokenStep * threshold); };
  for (std::size_t s = 0; s < problem.items.size(); ++s) {
    const auto tokens = loss.tokens(f, s);
    const bool out = problem.items[s].left_out;
    rl::UpdateReport unused;
    rl::add_sequence_loss(*problem.algorithm, problem.loss, tokens, f.entropy[s], 1, out, base,
                          unused);
    double of_sequence = 0;
    for (const rl::TokenResult& r : base) {
      of_sequence += std::fabs(r.loss);
    }
    magnitude = std::max(magnitude, of_sequence);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      bool edge = false;
      const auto at = [&](double step) {
        auto changed = tokens;
        Loss::set_logp(changed[t], tokens[t].log_pi + step);
        rl::UpdateReport report;
        rl::add_sequence_loss(*problem.algorithm, problem.loss, changed, f.entropy[s], 1, out,
                              moved, report);
        for (std::size_t i = 0; i < moved.size(); ++i) {
          edge = edge || moved[i].reasons != base[i].reasons;
        }
        return report.loss;
      };
      Stencil d{.step = kTokenStep, .floor = floor()};
      d.near = at(kTokenStep) - at(-kTokenStep);
      d.far = at(2 * kTokenStep) - at(-2 * kTokenStep);
      if (edge || !d.smooth()) {
        ++row.kinks;
        continue;
      }
      all.push_back({base[t].dlogp, d.derivative(), fmt::format("sequence {}, token {}", s, t)});
    }
  }
  finish(row, all, floor());
  return row;
}

std::string layer_of(const std::string& name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (name.starts_with(kLayers)) {
    return "layer " + name.substr(kLayers.size(), name.find('.', kLayers.size()) - kLayers.size());
  }
  return name.find("embed") != std::string::npos ? "embedding" : "head";
}

// "[3, 5]" of a matrix, "[3]" of a vector.
std::string index_words(const Shape& shape, Index i) {
  return shape.rank == 2 ? fmt::format("[{}, {}]", i / shape[1], i % shape[1])
                         : fmt::format("[{}]", i);
}

class ParameterChecks {
 public:
  ParameterChecks(const LossProblem& problem, Loss& loss, const GradOptions& options,
                  const Exec& exec)
      : problem_(problem),
        loss_(loss),
        options_(options),
        exec_(exec),
        base_(loss.evaluate(loss.forward())) {
    Params& params = problem.model->params();
    params.zero_grads();
    loss.backward(base_);
    params.combine_grads(exec);
    const Forward f = loss.forward();
    double magnitude = std::fabs(base_.loss);
    for (std::size_t s = 0; s < f.logp.size(); ++s) {
      for (std::size_t t = 0; t < f.logp[s].size(); ++t) {
        magnitude += std::fabs(base_.dlogp[s][t] * f.logp[s][t]) +
                     std::fabs(base_.dentropy[s] * f.entropy[s][t]);
      }
    }
    floor_ = kRounding * magnitude / (options.step * options.threshold);
  }

  // Two rows: through the frozen factors, and of the loss itself.
  std::pair<GradRow, GradRow> check(Param& p, std::uint64_t number) {
    GradRow chain;
    chain.kind = GradRow::Kind::parameter;
    chain.name = p.name;
    chain.layer = layer_of(p.name);
    GradRow whole = chain;
    std::vector<Comparison> chains;
    std::vector<Comparison> wholes;
    const Index n = p.value.numel();
    const double* g = p.grad(0).data<double>();
    rng::Random random(rng::Key::of(options_.seed, rng::Stream::sample).derive(0x67726164, number));
    for (Index c = 0; c < options_.coordinates; ++c) {
      std::vector<double> direction;  // empty: the coordinate i
      Index i = 0;
      std::string where = "a random direction";
      double analytic = 0;
      if (c == 0) {  // of length 1, every weight the same share
        const double share = 1 / fmath::sqrt(static_cast<double>(n));
        for (Index j = 0; j < n; ++j) {
          direction.push_back((random.bits() & 1U) != 0 ? share : -share);
          analytic += direction.back() * g[j];
        }
      } else {
        i = c == 1 ? std::max_element(
                         g, g + n, [](double a, double b) { return std::fabs(a) < std::fabs(b); }) -
                         g
                   : static_cast<Index>(random.below(static_cast<std::uint64_t>(n)));
        where = index_words(p.value.shape(), i);
        analytic = g[i];
      }
      const Moved m = move(p, direction, i, options_.step);
      chains.push_back({analytic, m.chain.derivative(), where});
      if (m.edge || !m.loss.smooth()) {
        ++whole.kinks;
      } else {
        wholes.push_back({analytic, m.loss.derivative(), where});
      }
    }
    finish(chain, chains, floor_);
    finish(whole, wholes, floor_);
    return {chain, whole};
  }

 private:
  struct Moved {
    Stencil chain, loss;
    bool edge = false;  // masks, clips changed
  };

  Moved move(Param& p, const std::vector<double>& direction, Index i, double step) {
    double* w = p.value.data<double>();
    const std::vector<double> kept(w, w + p.value.numel());
    Moved out;
    out.chain.step = out.loss.step = step;
    out.chain.floor = out.loss.floor = floor_;
    const auto at = [&](double h) {
      if (direction.empty()) {
        w[i] = kept[static_cast<std::size_t>(i)] + h;
      } else {
        for (std::size_t j = 0; j < kept.size(); ++j) {
          w[j] = kept[j] + h * direction[j];
        }
      }
      p.touch();
      const Forward f = loss_.forward();
      const Evaluated e = loss_.evaluate(f);
      out.edge = out.edge || e.reasons != base_.reasons;
      double chain = 0;
      for (std::size_t s = 0; s < f.logp.size(); ++s) {
        for (std::size_t t = 0; t < f.logp[s].size(); ++t) {
          chain += base_.dlogp[s][t] * f.logp[s][t] + base_.dentropy[s] * f.entropy[s][t];
        }
      }
      return std::pair(chain, e.loss);
    };
    const auto up = at(step);
    const auto down = at(-step);
    const auto far_up = at(2 * step);
    const auto far_down = at(-2 * step);
    std::copy(kept.begin(), kept.end(), w);
    p.touch();
    out.chain.near = up.first - down.first;
    out.loss.near = up.second - down.second;
    out.chain.far = far_up.first - far_down.first;
    out.loss.far = far_up.second - far_down.second;
    return out;
  }

  const LossProblem& problem_;
  Loss& loss_;
  const GradOptions& options_;
  Exec exec_;
  Evaluated base_;
  double floor_ = 0;
};

}  // namespace

std::vector<GradRow> check_loss(const LossProblem& problem, const GradOptions& options,
                                const Exec& exec, const std::function<bool()>& interrupted) {
  MINIRL_CHECK(problem.model->dtype() == DType::f64, "a model in {}", name(problem.model->dtype()));
  Loss loss(problem, exec);
  std::vector<GradRow> rows;
  // Straight-through estimators of the penalty have another derivative than their value, by design.
  const bool straight = problem.loss.kl.coefficient != 0 &&
                        (problem.loss.kl.estimator == rl::KlEstimator::k1_straight ||
                         problem.loss.kl.estimator == rl::KlEstimator::k3_straight);
  const bool differentiable = problem.algorithm->traits().ratio_form && !straight;
  if (differentiable) {
    rows.push_back(check_tokens(problem, loss, loss.forward(), options.threshold));
  }
  ParameterChecks checks(problem, loss, options, exec);
  GradRow whole;
  whole.kind = GradRow::Kind::loss;
  whole.name = fmt::format("{}, through the model", problem.algorithm->name());
  std::vector<GradRow> parameters;
  std::uint64_t number = 0;
  for (Param& p : problem.model->params().all()) {
    if (interrupted && interrupted()) {
      throw Error(Exit::interrupted, "the gradient check was interrupted");
    }
    auto [chain, of_loss] = checks.check(p, number++);
    whole.coordinates += of_loss.coordinates;
    whole.kinks += of_loss.kinks;
    if (!(of_loss.worst <= whole.worst)) {
      whole.worst = of_loss.worst;
      whole.where = fmt::format("{} {}", p.name, of_loss.where);
      whole.analytic = of_loss.analytic;
      whole.numeric = of_loss.numeric;
    }
    parameters.push_back(std::move(chain));
  }
  problem.model->params().zero_grads();
  if (differentiable) {
    rows.push_back(std::move(whole));
  }
  rows.insert(rows.end(), parameters.begin(), parameters.end());
  return rows;
}

}  // namespace minirl::audit
