// Every op of autograd/ops.h against fp64 differences of its own forward, and the exactness claims that
// backward makes: micro-batch cuts and thread counts change no bit.
#include "autograd/ops.h"

#include <doctest/doctest.h>

#include <cstring>

#include "autograd/gradcheck.h"
#include "kernels/attention.h"

using namespace minirl;

namespace {

constexpr double kGradTolerance = 1e-8;  // the five-point stencil reaches about 1e-11

Tensor random_tensor(Shape shape, std::uint64_t seed, DType dtype = DType::f64, double scale = 1) {
  Tensor t = Tensor::empty(shape, DType::f64);
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  for (double& x : t.span<double>()) { x = scale * random.normal(); }
  return dtype == DType::f64 ? t : t.to(dtype);
}

Tensor integers(std::initializer_list<std::int32_t> v) { return Tensor::from<std::int32_t>({static_cast<Index>(v.size())}, std::vector<std::int32_t>(v)); }

std::shared_ptr<const ops::RunPlan> plan_of(std::initializer_list<Index> lengths) {
  auto plan = std::make_shared<ops::RunPlan>();
  plan->tile_ids.reserve(lengths.size());
  Index row = 0;
  for (const Index n : lengths) {
    std::vector<int> tiles;
    for (Index at = 0; at < n; at += kernels::kKeyTile) { tiles.push_back(plan->tiles++); }
    plan->tile_ids.push_back(std::move(tiles));
    plan->runs.push_back({row, n, 0, plan->tile_ids.back().data()});
    row += n;
  }
  return plan;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.numel() == b.numel() && std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.bytes())) == 0;
}

void check(const char* op, const std::function<Var(Tape&, std::span<const Var>)>& build, std::vector<Tensor> inputs, std::vector<Param*> params = {}) {
  const GradCheckResult r = gradcheck(build, inputs, params, Exec{});
  CAPTURE(op);
  CAPTURE(r.where);
  CAPTURE(r.analytic);
  CAPTURE(r.numeric);
  CHECK(r.worst < kGradTolerance);
  CHECK(r.coordinates > 0);
}

}  // namespace

TEST_CASE("autograd/ops: backward of every op agrees with fp64 differences") {
  Param weight("w", random_tensor({6, 5}, 1), true);
  Param norm("norm", random_tensor({5}, 2), false);
  Param table("table", random_tensor({7, 4}, 3), true);
  check("linear", [&](Tape& t, std::span<const Var> in) { return ops::linear(t, in[0], {&weight}); }, {random_tensor({3, 5}, 4)}, {&weight});
  check("rmsnorm", [&](Tape& t, std::span<const Var> in) { return ops::rmsnorm(t, in[0], {&norm}, 1e-6); }, {random_tensor({4, 5}, 5)}, {&norm});
  const Tensor ids = integers({3, 0, 3, 6, 3});
  check("embedding", [&](Tape& t, std::span<const Var>) { return ops::embedding(t, {&table}, ids); }, {}, {&table});
  const Tensor rows = integers({2, 0});
  check("gather_rows", [&](Tape& t, std::span<const Var> in) { return ops::gather_rows(t, in[0], rows); }, {random_tensor({3, 4}, 6)});
  check("add", [&](Tape& t, std::span<const Var> in) { return ops::add(t, in[0], in[1]); }, {random_tensor({3, 4}, 7), random_tensor({3, 4}, 8)});
  check("add of a value to itself", [&](Tape& t, std::span<const Var> in) { return ops::add(t, in[0], in[0]); }, {random_tensor({3, 4}, 7)});
  check("swiglu", [&](Tape& t, std::span<const Var> in) { return ops::swiglu(t, in[0], in[1]); }, {random_tensor({3, 40}, 9), random_tensor({3, 40}, 10)});
  check("view", [&](Tape& t, std::span<const Var> in) { return ops::view(t, in[0], {6, 2}); }, {random_tensor({3, 4}, 11)});
  const ops::RopeTable rope = ops::RopeTable::make(64, 6, 100.0, DType::f64);
  const Tensor positions = integers({0, 5, 63});
  check("rope", [&](Tape& t, std::span<const Var> in) { return ops::rope(t, in[0], rope, positions); }, {random_tensor({3, 2, 6}, 12)});
}

TEST_CASE("autograd/ops: attention backward agrees with fp64 differences, ragged and grouped, across key tiles") {
  const auto plan = plan_of({3, 1, 37});
  check("attention", [&](Tape& t, std::span<const Var> in) { return ops::attention(t, in[0], in[1], in[2], plan, 0.4, nullptr); },
        {random_tensor({41, 4, 6}, 13), random_tensor({41, 2, 6}, 14), random_tensor({41, 2, 6}, 15)});
}

TEST_CASE("autograd/ops: token_logp backward agrees with fp64 differences, with entropy, temperature and a padded head") {
  Param head("head", random_tensor({37, 5}, 16), true);
  const Tensor targets = integers({0, 34, 12, 7});
  for (const bool entropy : {false, true}) {
    for (const double temperature : {1.0, 0.6}) {
      const ops::LogProbOptions options{temperature, entropy, 35, 3};
      check("token_logp", [&](Tape& t, std::span<const Var> in) { return ops::token_logp(t, in[0], {&head}, targets, options); },
            {random_tensor({4, 5}, 17)}, {&head});
    }
  }
}

TEST_CASE("autograd/ops: token_logp gives log-softmax and entropy of the plain formula") {
  constexpr double kTolerance = 1e-13;
  Param head("head", random_tensor({9, 4}, 18), true);
  Tensor h = random_tensor({3, 4}, 19);
  Tape tape(false, {});
  const Tensor out = ops::token_logp(tape, {h}, {&head}, integers({1, 8, 0}), {0.7, true, 0, 2}).value;
  const std::int32_t targets[] = {1, 8, 0};
  for (Index r = 0; r < 3; ++r) {
    std::vector<double> z(9);
    double total = 0;
    for (Index v = 0; v < 9; ++v) {
      for (Index k = 0; k < 4; ++k) { z[static_cast<std::size_t>(v)] += h.data<double>()[r * 4 + k] * head.value.data<double>()[v * 4 + k] / 0.7; }
      total += std::exp(z[static_cast<std::size_t>(v)]);
    }
    double entropy = 0;
    for (const double x : z) { entropy -= std::exp(x) / total * (x - std::log(total)); }
    CHECK(std::abs(out.data<double>()[r] - (z[static_cast<std::size_t>(targets[r])] - std::log(total))) < kTolerance);
    CHECK(std::abs(out.data<double>()[3 + r] - entropy) < kTolerance);
  }
}

TEST_CASE("autograd/ops: chunk size, threads and instruction set change no bit of token_logp or its gradients") {
  Param head("head", random_tensor({131, 48}, 21, DType::f32, 0.2), true);
  const Tensor h = random_tensor({70, 48}, 22, DType::f32);
  std::vector<std::int32_t> target(70);
  for (std::size_t i = 0; i < target.size(); ++i) { target[i] = static_cast<std::int32_t>(i * 37 % 131); }
  const Tensor targets = Tensor::from<std::int32_t>({70}, target);
  const Tensor seed = random_tensor({2, 70}, 23, DType::f32);
  Tensor first_out, first_dh, first_dw;
  const Isa before = active_isa();
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) { continue; }
    set_isa(isa);
    for (const int threads : {1, 2, 3, 5}) {
      for (const Index chunk : {Index{1}, Index{7}, Index{70}}) {
        const Exec exec{.threads = threads};
        head.zero_grads();
        Tape tape(true, exec);
        const Var x = tape.leaf(h);
        const Var out = ops::token_logp(tape, x, {&head}, targets, {0.9, true, 0, chunk});
        tape.backward(out, seed.clone());
        if (!first_out.defined()) {
          first_out = out.value, first_dh = tape.grad(x), first_dw = head.grad().clone();
          continue;
        }
        CAPTURE(name(isa));
        CAPTURE(threads);
        CAPTURE(chunk);
        CHECK(same_bits(out.value, first_out));
        CHECK(same_bits(tape.grad(x), first_dh));
        CHECK(same_bits(head.grad(), first_dw));
      }
    }
  }
  set_isa(before);
}

TEST_CASE("autograd/ops: cutting a batch in two adds the parameter gradients to the same bits") {
  Param weight("w", random_tensor({33, 48}, 31, DType::f32), true);
  Param norm("norm", random_tensor({48}, 32, DType::f32), false);
  Param table("table", random_tensor({11, 48}, 33, DType::f32), true);
  const Index N = 57;
  std::vector<std::int32_t> id(static_cast<std::size_t>(N));
  for (std::size_t i = 0; i < id.size(); ++i) { id[i] = static_cast<std::int32_t>(i * i % 11); }
  const Tensor seed = random_tensor({N, 33}, 34, DType::f32);
  const auto run = [&](std::initializer_list<Index> cuts) {
    for (Param* p : {&weight, &norm, &table}) { p->zero_grads(); }
    Index begin = 0;
    for (const Index end : cuts) {
      Tape tape(true, {});
      const Tensor ids = Tensor::from<std::int32_t>({end - begin}, std::span(id).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
      const Var y = ops::linear(tape, ops::rmsnorm(tape, ops::embedding(tape, {&table}, ids), {&norm}, 1e-6), {&weight});
      tape.backward(y, seed.slice(begin, end).clone());
      begin = end;
    }
    return std::vector<Tensor>{weight.grad().clone(), norm.grad().clone(), table.grad().clone()};
  };
  const auto whole = run({N});
  for (const auto& cut : {run({1, N}), run({20, 41, N}), run({N - 1, N})}) {
    for (std::size_t i = 0; i < whole.size(); ++i) { CHECK(same_bits(whole[i], cut[i])); }
  }
}

TEST_CASE("autograd/ops: the two uses of a tied parameter are added once, in order") {
  Param table("table", random_tensor({5, 3}, 41, DType::f32), true);
  table.grad(1).data<float>()[4] = 2.0F;
  table.grad(0).data<float>()[4] = 1.0F;
  table.combine_grads({});
  CHECK(table.grad(0).data<float>()[4] == 3.0F);
  CHECK(table.grad(1).data<float>()[4] == 0.0F);
}

TEST_CASE("autograd/ops: rope table holds cos and sin of position times frequency, whatever its size") {
  const ops::RopeTable small = ops::RopeTable::make(8, 32, 1e6, DType::f32);
  const ops::RopeTable large = ops::RopeTable::make(5000, 32, 1e6, DType::f32);
  CHECK(std::memcmp(small.cosine.raw(), large.cosine.raw(), static_cast<std::size_t>(small.cosine.bytes())) == 0);
  constexpr double kTolerance = 1e-6;  // one float rounding of a value of at most 1, and 1e-12 of the angle
  for (const Index p : {0, 1, 777, 4999}) {
    for (Index i = 0; i < 16; ++i) {
      const double angle = static_cast<double>(p) * std::pow(1e6, -2.0 * static_cast<double>(i) / 32);
      CHECK(std::abs(static_cast<double>(large.cosine.data<float>()[p * 16 + i]) - std::cos(angle)) < kTolerance);
      CHECK(std::abs(static_cast<double>(large.sine.data<float>()[p * 16 + i]) - std::sin(angle)) < kTolerance);
    }
  }
}

TEST_CASE("autograd/ops: token ids and targets outside the table are refused") {
  Param table("table", random_tensor({5, 3}, 51), true);
  Tape tape(false, {});
  CHECK_THROWS_AS(ops::embedding(tape, {&table}, integers({5})), Error);
  CHECK_THROWS_AS(ops::embedding(tape, {&table}, integers({-1})), Error);
  CHECK_THROWS_AS(ops::token_logp(tape, {random_tensor({1, 3}, 1)}, {&table}, integers({4}), {1.0, false, 4, 0}), Error);
}
