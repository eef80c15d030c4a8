#include "rl/rollout_policy.h"

#include <cmath>

namespace minirl::rl {
namespace {

Tensor copy_of(const Tensor& t) {
  Tensor out = Tensor::empty(t.shape(), t.dtype(), {});  // on the host
  out.copy_from(t);
  return out;
}

std::vector<Tensor> copy_of(const std::vector<Tensor>& s) {
  std::vector<Tensor> out;
  for (const Tensor& t : s) { out.push_back(copy_of(t)); }
  return out;
}

}  // namespace

RolloutPolicy::RolloutPolicy(Decoder& live, const MismatchOptions& mismatch, double ema_decay)
    : live_(live), mismatch_(mismatch), decay_(ema_decay), exact_(!mismatch.any() && ema_decay == 0) {
  MINIRL_CHECK(ema_decay >= 0 && ema_decay < 1, "ema_decay = {}", ema_decay);
  restart();
}

RolloutPolicy::Snapshot RolloutPolicy::snapshot() const {
  Snapshot out;
  for (const Param& p : live_.params().all()) { out.push_back(copy_of(p.value)); }
  return out;
}

void RolloutPolicy::restart() {
  fresh_ = false;
  average_.clear();
  history_.clear();
  if (decay_ > 0) { average_ = snapshot(); }
  if (mismatch_.staleness > 0) { history_.push_back(decay_ > 0 ? copy_of(average_) : snapshot()); }
}

void RolloutPolicy::updated() {
  fresh_ = false;
  if (decay_ > 0) {
    const auto d = static_cast<float>(decay_);
    std::size_t i = 0;
    for (const Param& p : live_.params().all()) {
      const Tensor value = p.value.on_host();
      const auto theta = value.span<float>();
      const auto a = average_[i++].span<float>();
      for (std::size_t j = 0; j < a.size(); ++j) { a[j] = std::fma(d, a[j] - theta[j], theta[j]); }  // (ema.1)
    }
  }
  if (mismatch_.staleness > 0) {
    history_.push_back(decay_ > 0 ? copy_of(average_) : snapshot());
    while (static_cast<Index>(history_.size()) > mismatch_.staleness + 1) { history_.pop_front(); }
  }
}

Decoder& RolloutPolicy::model() {
  const bool own_weights = decay_ > 0 || mismatch_.staleness > 0 || mismatch_.weights != RolloutWeights::exact;
  if (!own_weights) { return live_; }  // noise and wrong records need no other weights
  if (!copy_) { copy_ = make_decoder(live_.config(), live_.dtype(), 0); }
  if (!fresh_) {
    copy_->params().copy_values(live_.params());
    const Snapshot* source = mismatch_.staleness > 0 ? &history_.front() : (decay_ > 0 ? &average_ : nullptr);
    std::size_t i = 0;
    for (Param& p : copy_->params().all()) {
      const Tensor& value = source != nullptr ? (*source)[i] : p.value;
      p.value = copy_of(value);  // never shared with the live weights: it is about to be rounded
      ++i;
    }
    round_weights(copy_->params(), mismatch_.weights);
    auto live = live_.params().all().begin();
    for (Param& p : copy_->params().all()) { p.value = p.value.beside((live++)->value); }
    fresh_ = true;
  }
  return *copy_;
}

std::vector<std::pair<std::string, Tensor>> RolloutPolicy::state() const {
  std::vector<std::pair<std::string, Tensor>> out;
  const auto add = [&](const std::string& prefix, const Snapshot& s) {
    std::size_t i = 0;
    for (const Param& p : live_.params().all()) { out.emplace_back(prefix + "." + p.name, s[i++]); }
  };
  if (decay_ > 0) { add("average", average_); }
  for (std::size_t k = 0; k < history_.size(); ++k) { add(fmt::format("updates_ago_{}", history_.size() - 1 - k), history_[k]); }
  return out;
}

void RolloutPolicy::load_state(const std::vector<std::pair<std::string, Tensor>>& state) {
  fresh_ = false;
  average_.clear();
  history_.clear();
  const std::size_t per = live_.params().all().size();
  MINIRL_CHECK(state.size() % per == 0, "{} tensors of rollout weights, {} parameters", state.size(), per);
  std::size_t at = 0;
  const auto take = [&](const std::string& prefix) {
    Snapshot s;
    for (const Param& p : live_.params().all()) {
      const auto& [name, tensor] = state[at++];
      if (name != prefix + "." + p.name || !(tensor.shape() == p.value.shape())) {
        fail(Exit::usage, fmt::format("the checkpoint's rollout weights hold {} {} where {}.{} {} belongs", name, tensor.shape().str(), prefix, p.name, p.value.shape().str()),
             "resume with the [mismatch] and rollout.ema_decay settings of the run");
      }
      s.push_back(copy_of(tensor));
    }
    return s;
  };
  if (decay_ > 0) {
    if (at == state.size()) { fail(Exit::usage, "the checkpoint holds no averaged weights", "it belongs to a run without rollout.ema_decay"); }
    average_ = take("average");
  }
  for (std::size_t left = (state.size() - at) / per; left > 0; --left) { history_.push_back(take(fmt::format("updates_ago_{}", left - 1))); }
}

}  // namespace minirl::rl
