#include "model/params.h"

#include "core/hash.h"

namespace minirl {
namespace {

// FNV-1a: a name's own random stream, so that adding a parameter does not move the others.
std::uint64_t name_id(std::string_view name) {
  std::uint64_t h = 14695981039346656037ULL;
  for (const char c : name) { h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL; }
  return h;
}

}  // namespace

Param& Params::add_normal(std::string name, Shape shape, double std, std::uint64_t seed) {
  Tensor value = Tensor::empty(shape, DType::f32);
  rng::Random random(rng::Key::of(seed, rng::Stream::init).derive(name_id(name)));
  for (float& x : value.span<float>()) { x = static_cast<float>(std * random.normal()); }
  return params_.emplace_back(std::move(name), std::move(value), true);
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
    p.value = source->value.to(p.value.dtype());
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
