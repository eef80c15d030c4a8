#include "rl/optimizer.h"

#include <cmath>

#include "kernels/adamw.h"

namespace minirl::rl {
namespace {

// Apart from the keys of initial values, whose second word is 0.
constexpr std::uint64_t kRounding = 0x726f756e64696e67ULL;

// The noise of (seed, step, parameter): a function of these alone, so that neither threads nor a resume
// change a bit.
rng::Key rounding_key(std::uint64_t seed, Index step, std::size_t parameter) {
  return rng::Key::of(seed, rng::Stream::init).derive(kRounding, kRounding).derive(static_cast<std::uint64_t>(step), parameter);
}

template <class T>
T* stored(Tensor& t) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    static_assert(sizeof(Bf16) == sizeof(std::uint16_t));
    return &t.data<Bf16>()->bits;
  } else {
    return t.data<T>();
  }
}

template <class Weight, class Moment>
void update_stored(const Exec& exec, Param& p, Tensor& first, Tensor& second, const kernels::AdamWScalars& scalars, const rng::Key& key) {
  const Index n = p.value.numel();
  kernels::for_rows(exec, kernels::blocks_of(n), 64 * kernels::kBlock,
                    kernels::AdamWStored<Weight, Moment>{stored<Weight>(p.value), stored<Moment>(first), stored<Moment>(second), p.grad().data<float>(), n, scalars, key});
}

double squared_norm(Param& p, const Exec& exec) {
  const Index n = p.value.numel();
  Tensor partial = Tensor::empty({kernels::blocks_of(n)}, DType::f64, exec);
  kernels::for_rows(exec, kernels::blocks_of(n), 2 * kernels::kBlock, kernels::SquaredNorm{p.grad().data<float>(), partial.data<double>(), n});
  partial = partial.on_host();
  double total = 0;
  for (const double x : partial.span<double>()) { total += x; }
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
    MINIRL_CHECK(p.real() == DType::f32, "AdamW updates f32 and bf16 parameters, {} is {}", p.name, name(p.value.dtype()));
    MINIRL_CHECK(options.state == DType::f32 || options.state == DType::bf16, "moments as {}", name(options.state));
    first_.push_back(Tensor::zeros_beside(p.value, p.value.shape(), options.state));
    second_.push_back(Tensor::zeros_beside(p.value, p.value.shape(), options.state));
  }
}

OptimizerReport Optimizer::step(double learning_rate, const Exec& exec, const GradientWitness& witness) {
  params_.combine_grads(exec);
  if (witness) { witness(params_); }
  OptimizerReport report;
  double total = 0;
  for (Param& p : params_.all()) {
    const double squared = squared_norm(p, exec);
    if (!std::isfinite(squared)) {
      params_.zero_grads();
      fail(Exit::invariant, fmt::format("tripwire finite: the gradient of {} is not finite; nothing was updated", p.name),
           "lower train.lr or train.max_grad_norm, and look at the last lines of metrics.jsonl; docs/audit.md, section \"finite\", says more");
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
    const rng::Key key = rounding_key(options_.seed, steps_, i);
    const bool narrow_weights = p.value.dtype() == DType::bf16, narrow_state = options_.state == DType::bf16;
    if (narrow_weights && narrow_state) {
      update_stored<std::uint16_t, std::uint16_t>(exec, p, first_[i], second_[i], scalars, key);
    } else if (narrow_weights) {
      update_stored<std::uint16_t, float>(exec, p, first_[i], second_[i], scalars, key);
    } else if (narrow_state) {
      update_stored<float, std::uint16_t>(exec, p, first_[i], second_[i], scalars, key);
    } else {
      kernels::for_rows(exec, kernels::blocks_of(n), 16 * kernels::kBlock,
                        kernels::AdamW{p.value.data<float>(), first_[i].data<float>(), second_[i].data<float>(), p.grad().data<float>(), n, scalars});
    }
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
