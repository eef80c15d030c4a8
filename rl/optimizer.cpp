#include "rl/optimizer.h"

#include <cmath>

#include "kernels/adamw.h"

namespace minirl::rl {
namespace {

double squared_norm(Param& p, const Exec& exec) {
  const Index n = p.value.numel();
  std::vector<double> partial(static_cast<std::size_t>(kernels::blocks_of(n)));
  kernels::for_rows(exec, kernels::blocks_of(n), 2 * kernels::kBlock, kernels::SquaredNorm{p.grad().data<float>(), partial.data(), n});
  double total = 0;
  for (const double x : partial) { total += x; }
  return total;
}

}  // namespace

double gradient_norm(Params& params, const Exec& exec) {
  double total = 0;
  for (Param& p : params.all()) { total += squared_norm(p, exec); }
  return fmath::sqrt(total);
}

Optimizer::Optimizer(Params& params, AdamWOptions options) : params_(params), options_(options) {
  for (const Param& p : params.all()) {
    MINIRL_CHECK(p.value.dtype() == DType::f32, "AdamW updates f32 parameters, {} is {}", p.name, name(p.value.dtype()));
    first_.push_back(Tensor::zeros(p.value.shape(), DType::f32));
    second_.push_back(Tensor::zeros(p.value.shape(), DType::f32));
  }
}

OptimizerReport Optimizer::step(double learning_rate, const Exec& exec) {
  params_.combine_grads(exec);
  OptimizerReport report;
  double total = 0;
  for (Param& p : params_.all()) {
    const double squared = squared_norm(p, exec);
    if (!std::isfinite(squared)) {
      params_.zero_grads();
      fail(Exit::invariant, fmt::format("the gradient of {} is not finite; the update was not made", p.name),
           "lower train.lr or train.max_grad_norm, and look at the last lines of metrics.jsonl");
    }
    total += squared;
  }
  report.grad_norm = fmath::sqrt(total);
  if (report.grad_norm > options_.max_grad_norm) { report.clip = options_.max_grad_norm / report.grad_norm; }
  ++steps_;
  const double t = static_cast<double>(steps_);
  const auto correction = [&](double beta) { return static_cast<float>(1.0 / (1.0 - fmath::pow(beta, t))); };
  kernels::AdamWScalars scalars{static_cast<float>(learning_rate), static_cast<float>(options_.beta1), static_cast<float>(options_.beta2),
                                static_cast<float>(options_.eps),  0.0F, correction(options_.beta1), correction(options_.beta2),
                                static_cast<float>(report.clip)};
  std::size_t i = 0;
  for (Param& p : params_.all()) {
    scalars.decay = p.decay ? static_cast<float>(options_.weight_decay) : 0.0F;
    const Index n = p.value.numel();
    kernels::for_rows(exec, kernels::blocks_of(n), 16 * kernels::kBlock,
                      kernels::AdamW{p.value.data<float>(), first_[i].data<float>(), second_[i].data<float>(), p.grad().data<float>(), n, scalars});
    ++i;
  }
  params_.zero_grads();
  params_.touch();
  return report;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() {
  std::vector<std::pair<std::string, Tensor>> out;
  std::size_t i = 0;
  for (const Param& p : params_.all()) {
    out.emplace_back(p.name + ".exp_avg", first_[i]);
    out.emplace_back(p.name + ".exp_avg_sq", second_[i]);
    ++i;
  }
  return out;
}

}  // namespace minirl::rl
