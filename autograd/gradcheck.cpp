#include "autograd/gradcheck.h"

#include <algorithm>

#include "core/rng.h"

namespace minirl {
namespace {

Tensor fixed_seed(const Shape& shape) {
  Tensor seed = Tensor::empty(shape, DType::f64);
  rng::Random random(rng::Key::of(20, rng::Stream::test));
  for (double& x : seed.span<double>()) { x = random.normal(); }
  return seed;
}

}  // namespace

GradCheckResult gradcheck(const std::function<Var(Tape&, std::span<const Var>)>& build, std::span<Tensor> inputs,
                          std::span<Param* const> params, const Exec& exec, const GradCheckOptions& options) {
  Tensor seed;
  const auto loss = [&]() -> double {
    Tape tape(false, exec);
    std::vector<Var> vars;
    for (Tensor& t : inputs) { vars.push_back({t.clone(exec), -1}); }  // ops may work in place
    const Tensor out = build(tape, vars).value;
    if (!seed.defined()) { seed = fixed_seed(out.shape()); }
    double total = 0;
    for (Index i = 0; i < out.numel(); ++i) { total += seed.data<double>()[i] * out.data<double>()[i]; }
    return total;
  };
  loss();  // makes the seed

  std::vector<Tensor> analytic;
  {
    for (Param* p : params) { p->zero_grads(); }
    Tape tape(true, exec);
    std::vector<Var> vars;
    for (Tensor& t : inputs) { vars.push_back(tape.leaf(t.clone(exec))); }
    const Var out = build(tape, vars);
    tape.backward(out, seed.clone(exec));
    for (const Var& v : vars) { analytic.push_back(tape.grad(v)); }
    for (Param* p : params) {
      p->combine_grads(exec);
      analytic.push_back(p->grad().clone(exec));
    }
  }

  GradCheckResult result;
  for (std::size_t which = 0; which < analytic.size(); ++which) {
    const bool is_input = which < inputs.size();
    Tensor& x = is_input ? inputs[which] : params[which - inputs.size()]->value;
    const auto changed = [&] {
      if (!is_input) { params[which - inputs.size()]->touch(); }
    };
    const Index n = x.numel();
    const Index stride = options.max_coordinates > 0 ? std::max<Index>(1, n / options.max_coordinates) : 1;
    std::vector<std::pair<Index, double>> numeric;
    double scale = options.floor;
    for (Index i = 0; i < n; i += stride) {
      double& v = x.data<double>()[i];
      const double kept = v;
      const double h = options.step;
      const auto at = [&](double value) {
        v = value;
        changed();
        return loss();
      };
      const double near = at(kept + h) - at(kept - h);
      const double far = at(kept + 2 * h) - at(kept - 2 * h);
      v = kept;
      changed();
      numeric.emplace_back(i, (8 * near - far) / (12 * h));
      scale = std::max(scale, fmath::abs(numeric.back().second));
    }
    for (const auto& [i, d] : numeric) {
      const double a = analytic[which].data<double>()[i];
      const double error = fmath::abs(a - d) / scale;
      ++result.coordinates;
      if (!(error <= result.worst)) {  // NaN counts as worst
        result.worst = error;
        result.analytic = a;
        result.numeric = d;
        result.where = fmt::format("{} [{}]", is_input ? fmt::format("input {}", which) : params[which - inputs.size()]->name, i);
      }
    }
  }
  return result;
}

}  // namespace minirl
