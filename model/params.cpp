#include "model/params.h"

#include <algorithm>

#include "core/hash.h"
#include "core/parallel.h"

namespace minirl {
namespace {

// FNV-1a: a name's own random stream, so that adding a parameter does not move the others.
std::uint64_t name_id(std::string_view name) {
  std::uint64_t h = 14695981039346656037ULL;
  for (const char c : name) { h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL; }
  return h;
}

// A standard normal is one Philox block, as rng::Random::normal draws them in sequence.
float normal_at(const rng::Key& key, Index i, double std) {
  const rng::Words4 w = key.words(static_cast<std::uint32_t>(i));
  const double u = 1.0 - rng::uniform(w.w[0], w.w[1]);
  const double angle = 6.283185307179586 * rng::uniform(w.w[2], w.w[3]);
  return static_cast<float>(std * (fmath::sqrt(-2.0 * fmath::log(u)) * fmath::cos(angle)));
}

}  // namespace

void initial_values(const WeightSpec& spec, double std, std::uint64_t seed, Index begin, std::span<float> out) {
  if (spec.start != WeightSpec::Start::normal) {
    std::fill(out.begin(), out.end(), spec.start == WeightSpec::Start::ones ? 1.0F : 0.0F);
    return;
  }
  MINIRL_CHECK(begin + static_cast<Index>(out.size()) <= Index{1} << 32, "{} has more values than a key has numbers", spec.name);
  const rng::Key key = rng::Key::of(seed, rng::Stream::init).derive(name_id(spec.name));
  parallel_ranges(default_threads(), static_cast<Index>(out.size()), 4096, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) { out[static_cast<std::size_t>(i)] = normal_at(key, begin + i, std); }
  });
}

Params Params::random(std::span<const WeightSpec> specs, DType dtype, double std, std::uint64_t seed) {
  Params out;
  for (const WeightSpec& spec : specs) {
    Tensor value = Tensor::empty(spec.shape, DType::f32);
    initial_values(spec, std, seed, 0, value.span<float>());
    if (dtype != DType::f32) { value = value.to(dtype); }
    out.params_.emplace_back(spec.name, std::move(value), spec.decays());
  }
  return out;
}

Params Params::uninitialised(std::span<const WeightSpec> specs, DType dtype, DType matrices) {
  Params out;
  for (const WeightSpec& spec : specs) {
    out.params_.emplace_back(spec.name, Tensor::empty(spec.shape, spec.shape.rank == 2 ? matrices : dtype), spec.decays());
  }
  return out;
}

void Params::store_matrices_as(DType dtype) {
  MINIRL_CHECK(dtype == DType::f32 || dtype == DType::bf16, "matrices as {}", minirl::name(dtype));
  for (Param& p : params_) {
    if (p.value.shape().rank != 2 || p.value.dtype() == dtype) { continue; }
    p.value = p.value.to(dtype);
    p.touch();
  }
}

void Params::keep_packed(bool keep) {
  for (Param& p : params_) { p.keep_packed(keep); }
}

Param& Params::add_normal(std::string name, Shape shape, double std, std::uint64_t seed) {
  const WeightSpec spec{std::move(name), shape, WeightSpec::Start::normal};
  Tensor value = Tensor::empty(shape, DType::f32);
  initial_values(spec, std, seed, 0, value.span<float>());
  return params_.emplace_back(spec.name, std::move(value), true);
}

Param& Params::add_ones(std::string name, Shape shape) {
  Tensor value = Tensor::empty(shape, DType::f32);
  for (float& x : value.span<float>()) { x = 1.0F; }
  return params_.emplace_back(std::move(name), std::move(value), false);
}

Param* Params::find(std::string_view name) {
  for (Param& p : params_) {
    if (p.name == name) { return &p; }
  }
  return nullptr;
}

Index Params::numel() const {
  Index n = 0;
  for (const Param& p : params_) { n += p.value.numel(); }
  return n;
}

void Params::move_to(const Exec& exec) {
  for (Param& p : params_) { p.move_to(exec); }
}

void Params::zero_grads() {
  for (Param& p : params_) { p.zero_grads(); }
}

void Params::combine_grads(const Exec& exec) {
  for (Param& p : params_) { p.combine_grads(exec); }
}

void Params::touch() {
  for (Param& p : params_) { p.touch(); }
}

void Params::copy_values(const Params& from) {
  MINIRL_CHECK(from.params_.size() == params_.size(), "{} parameters from {}", params_.size(), from.params_.size());
  auto source = from.params_.begin();
  for (Param& p : params_) {
    MINIRL_CHECK(p.name == source->name && p.value.shape() == source->value.shape(), "{} {} from {} {}", p.name, p.value.shape().str(),
                 source->name, source->value.shape().str());
    p.value = source->value.on_host().to(p.value.dtype()).beside(p.value);
    p.touch();
    ++source;
  }
}

std::string Params::hash() const {
  Hasher h;
  for (const Param& p : params_) { h.add(p.name).add(p.value); }
  return h.hex();
}

}  // namespace minirl
