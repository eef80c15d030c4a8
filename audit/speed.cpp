#include "audit/speed.h"

#include <algorithm>

#include "rl/micro_batch.h"

namespace minirl::audit {

double forward_flop(const ModelConfig& c, double context) {
  const double layer = static_cast<double>(2 * c.hidden_size * (c.q_size() + c.kv_size()) +
                                           3 * c.hidden_size * c.ffn_size);
  const double head = static_cast<double>(c.hidden_size * c.vocab_size);
  return 2 * (static_cast<double>(c.num_layers) * layer + head) +
         4 * static_cast<double>(c.num_layers * c.q_size()) * context;
}

double decode_bytes(const ModelConfig& c, Index batch, double context) {
  const double weights = forward_flop(c, 0) / 2;
  const double cached = static_cast<double>(2 * c.num_layers * c.kv_size() * batch) * context;
  return 4 * (weights + cached);
}

std::vector<Token> speed_tokens(Index count, std::uint64_t seed, Index vocabulary) {
  rng::Random random(rng::Key::of(seed, rng::Stream::test));
  std::vector<Token> out;
  for (Index i = 0; i < count; ++i) {
    out.push_back(static_cast<Token>(random.below(static_cast<std::uint64_t>(vocabulary))));
  }
  return out;
}

TrainSpeed::TrainSpeed(Decoder& model, Index sequences, Index length)
    : model_(model), length_(static_cast<double>(length)) {
  for (Index i = 0; i < sequences; ++i) {
    text_.push_back(
        speed_tokens(length + 1, static_cast<std::uint64_t>(i), model.config().vocab_size));
  }
}

double TrainSpeed::flop() const {
  return 3 * forward_flop(model_.config(), (length_ + 1) / 2) * tokens();
}

namespace {

std::vector<rl::ScoredSequence> scored(const std::vector<std::vector<Token>>& text) {
  std::vector<rl::ScoredSequence> out;
  for (const auto& t : text) {
    out.push_back({std::span(t).first(1), std::span(t).subspan(1)});
  }
  return out;
}

rl::MicroBatchOptions whole_batch(double tokens) {
  rl::MicroBatchOptions options;
  options.tokens_per_micro = std::max<Index>(4096, static_cast<Index>(tokens));
  return options;
}

}  // namespace

void TrainSpeed::step(const Exec& exec) {
  if (!optimizer_) {
    optimizer_ = std::make_unique<rl::Optimizer>(model_.params(), rl::AdamWOptions{});
  }
  const float seed = static_cast<float>(-1.0 / tokens());
  rl::accumulate_gradients(model_, exec, scored(text_), whole_batch(tokens()),
                           [&](std::size_t, const rl::SequenceScores&, const rl::SequenceSeeds& s) {
                             std::fill(s.dlogp.begin(), s.dlogp.end(), seed);
                           });
  optimizer_->step(1e-6, exec);
}

double TrainSpeed::loss(const Exec& exec) {
  double total = 0;
  for (const rl::SequenceLogp& s :
       rl::score_sequences(model_, exec, scored(text_), whole_batch(tokens()))) {
    for (const float x : s.logp) {
      total -= static_cast<double>(x);
    }
  }
  return total / tokens();
}

SampleSpeed::SampleSpeed(Decoder& model, Index batch, Index prompt, Index new_tokens)
    : model_(model), batch_(batch), prompt_(prompt), new_tokens_(new_tokens) {
  const rng::Key key = rng::Key::of(1, rng::Stream::test);
  for (Index i = 0; i < batch; ++i) {
    const auto id = static_cast<std::uint64_t>(i);
    requests_.push_back(
        {speed_tokens(prompt, 1000 + id, model.config().vocab_size), {key.derive(id)}});
  }
}

SampleSpeed SampleSpeed::group(Decoder& model, Index size, Index prompt, Index new_tokens) {
  SampleSpeed out(model, size, prompt, new_tokens);
  SampleRequest one{out.requests_.front().prompt, {}};
  for (const SampleRequest& r : out.requests_) {
    one.keys.push_back(r.keys.front());
  }
  out.requests_ = {std::move(one)};
  return out;
}

void SampleSpeed::run(const Exec& exec) {
  SamplerOptions options;
  options.max_new_tokens = new_tokens_;
  options.max_batch = batch_;
  sample(model_, requests_, options, exec);
}

double SampleSpeed::flop() const {
  const double context = static_cast<double>(prompt_) + static_cast<double>(new_tokens_) / 2;
  return forward_flop(model_.config(), context) * tokens();
}

double SampleSpeed::bytes() const {
  const double context = static_cast<double>(prompt_) + static_cast<double>(new_tokens_) / 2;
  return decode_bytes(model_.config(), batch_, context) * static_cast<double>(new_tokens_);
}

Spread spread_of(std::vector<double> values) {
  MINIRL_CHECK(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.25), at(0.75)};
}

}  // namespace minirl::audit
