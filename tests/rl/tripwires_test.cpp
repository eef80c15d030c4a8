// Every tripwire with the fault that it is there for, planted; and none of them on healthy steps.
#include "rl/tripwires.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/files.h"
#include "rl/algorithm_registry.h"
#include "rl/model_support.h"
#include "rl/optimizer.h"
#include "rl/trainer_support.h"

namespace minirl::rl {
namespace {

using test::TinySequences;
using test::tiny_model;

/// A batch of one group, with log mu as the model itself computes it.
struct Batch {
  std::unique_ptr<Decoder> model = make_decoder(tiny_model(), DType::f32, 3);
  Optimizer optimizer{model->params(), {}};
  Group group;
  std::vector<TrainItem> items;
  UpdateOptions options;

  Batch() {
    const TinySequences sequences;
    group.prompt = sequences.prompts[1];
    std::vector<ScoredSequence> list;
    for (std::size_t i = 1; i < 5; ++i) {
      Rollout r;
      r.ids = sequences.completions[i];
      r.ids.push_back(0);  // the end token
      r.stopped = true;
      r.reward = static_cast<double>(i % 2);
      group.rollouts.push_back(r);
    }
    for (const Rollout& r : group.rollouts) { list.push_back({group.prompt, r.ids}); }
    options.micro = {1.0, 4096, false, 53};
    const auto scores = score_sequences(*model, {}, list, options.micro);
    for (std::size_t i = 0; i < scores.size(); ++i) { group.rollouts[i].logp = scores[i].logp; }
    set_advantages(std::span(&group, 1), {});
    for (const Rollout& r : group.rollouts) { items.push_back({&group, &r}); }
    options.loss.horizon = 10;
    options.learning_rate = 1e-2;
    options.expect_ratio_one = true;
    options.end_tokens = {0};
  }

  /// What stops an update; empty: nothing did. Whatever it is, it leaves no trace.
  std::string update(const Algorithm& algorithm) {
    const std::string before = model->params().hash();
    PolicyMetrics metrics(algorithm.traits());
    try {
      update_policy(*model, optimizer, algorithm, items, options, {}, metrics);
    } catch (const Error& e) {
      CHECK(e.code() == Exit::invariant);
      CHECK(model->params().hash() == before);
      CHECK(optimizer.steps() == 0);
      CHECK(gradient_norm(model->params(), {}) == 0);
      return e.what();
    }
    CHECK(model->params().hash() != before);
    return "";
  }
  std::string update() { return update(*make_algorithm("pg_is", {})); }
};

/// "masked", but with a gradient all the same.
class Leaky final : public TokenAlgorithm {
 public:
  Leaky() : TokenAlgorithm(Traits{}) { set_algorithm_name(*this, "leaky"); }
  WeightRange weight_range() const override { return {}; }
  TokenResult token(const TokenInput& t) const override {
    TokenResult r;
    r.dlogp = -t.advantage;
    r.reasons = t.advantage < 0 ? static_cast<std::uint32_t>(MaskReason::clipped_low) : 0U;
    return r;
  }
};

bool told(const std::string& message, std::string_view name) {
  return message.find(fmt::format("tripwire {}: ", name)) != std::string::npos &&
         message.find(fmt::format("docs/audit.md, section \"{}\"", name)) != std::string::npos;
}

template <class F>
std::string trip_of(F call) {
  try {
    call();
  } catch (const Error& e) {
    CHECK(e.code() == Exit::invariant);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("rl/tripwires: a healthy update touches none") {
  for (const std::string& name : algorithm_names()) {
    const AlgorithmInfo info = algorithm_info(name);
    if (info.traits.needs_topk || info.traits.needs_recomputed) { continue; }
    ParamMap params;
    for (const ParamSpec& p : info.params) {
      if (!p.fallback) { params[p.name].value = 0.2; }
    }
    Batch batch;
    CAPTURE(name);
    batch.options.loss.agg_mode = info.traits.needs_seq_mean_token_mean ? AggMode::seq_mean_token_mean : AggMode::token_mean;
    CHECK(batch.update(*make_algorithm(name, params)).empty());
  }
}

TEST_CASE("rl/tripwires: first-update ratio: the last bit of one log mu") {
  Batch batch;
  float& logp = batch.group.rollouts[2].logp[5];
  logp = std::nextafter(logp, 0.0F);
  const std::string message = batch.update();
  CHECK(told(message, "first-update ratio"));
  CHECK(message.find("token 5") != std::string::npos);
  batch.options.expect_ratio_one = false;  // a later update: nothing to be equal to
  CHECK(batch.update().empty());
}

TEST_CASE("rl/tripwires: group advantages: a baseline that is not that of the group") {
  Batch batch;
  const std::vector<AdvantageEstimator> centred = {AdvantageEstimator::group_mean, AdvantageEstimator::leave_one_out, AdvantageEstimator::maxrl, AdvantageEstimator::gpg};
  rng::Random random(rng::Key::of(5, rng::Stream::test));
  for (const AdvantageEstimator estimator : centred) {
    for (const bool by_std : {false, true}) {
      if (by_std && (estimator == AdvantageEstimator::maxrl || estimator == AdvantageEstimator::gpg)) { continue; }
      const AdvantageOptions options{.estimator = estimator, .normalize_by_std = by_std};
      CAPTURE(estimator_name(estimator));
      CAPTURE(by_std);
      for (int round = 0; round < 300; ++round) {  // rewards of many sizes and offsets stay within the bound
        const double scale = std::ldexp(1.0, static_cast<int>(random.below(40)) - 20);
        const double offset = round % 3 == 0 ? 1000 * scale : 0;
        for (Rollout& r : batch.group.rollouts) { r.reward = offset + scale * random.normal(); }
        set_advantages(std::span(&batch.group, 1), options);
        CHECK(trip_of([&] { tripwire::group_advantages(std::span(&batch.group, 1), options); }).empty());
      }
      double reward = 0;
      for (Rollout& r : batch.group.rollouts) { r.reward = reward += 0.3; }
      set_advantages(std::span(&batch.group, 1), options);
      double& advantage = batch.group.rollouts[0].advantage;
      const double good = advantage;
      double largest = 0;
      for (const Rollout& r : batch.group.rollouts) { largest = std::max(largest, std::fabs(r.advantage)); }
      for (const double bad : {good + 1e-9 * largest, good - largest, good + 0.1}) {
        advantage = bad;
        CHECK(told(trip_of([&] { tripwire::group_advantages(std::span(&batch.group, 1), options); }), "group advantages"));
      }
    }
  }
  for (Rollout& r : batch.group.rollouts) {  // no signal: exactly nothing
    r.reward = 0.25;
    r.advantage = 1e-17;
  }
  CHECK(told(trip_of([&] { tripwire::group_advantages(std::span(&batch.group, 1), {}); }), "group advantages"));
  // Where advantages need not add up to 0 nothing is claimed.
  CHECK(trip_of([&] { tripwire::group_advantages(std::span(&batch.group, 1), {.estimator = AdvantageEstimator::raw}); }).empty());
}

TEST_CASE("rl/tripwires: masked gradient: a loss that says masked and computes otherwise") {
  Batch batch;
  const std::string message = batch.update(Leaky());
  CHECK(told(message, "masked gradient"));
  CHECK(message.find("masked by the loss") != std::string::npos);
  // A term that ignores the loss mask.
  const TrainItem item{&batch.group, &batch.group.rollouts[0]};
  std::vector<TokenInput> tokens(3);
  tokens[1].active = false;
  std::vector<float> dlogp = {1, 0, 1}, dentropy = {1, 0, 1};
  CHECK(trip_of([&] { tripwire::masked_seeds(item, tokens, dlogp, dentropy); }).empty());
  dlogp[1] = 1e-30F;
  CHECK(told(trip_of([&] { tripwire::masked_seeds(item, tokens, dlogp, dentropy); }), "masked gradient"));
  dlogp[1] = 0;
  dentropy[1] = -1e-30F;
  CHECK(told(trip_of([&] { tripwire::masked_seeds(item, tokens, dlogp, dentropy); }), "masked gradient"));
}

TEST_CASE("rl/tripwires: loss shares: a token that is counted twice or not at all") {
  rng::Random random(rng::Key::of(6, rng::Stream::test));
  for (int round = 0; round < 50; ++round) {
    tripwire::LossShares shares;
    double plain = 0, one = 0;
    for (int i = 0; i < 2000; ++i) {
      one = std::ldexp(random.normal(), -static_cast<int>(random.below(20)));
      shares.add(one);
      plain += one;
    }
    CHECK(trip_of([&] { shares.check(plain); }).empty());
    if (std::fabs(one) < 1e-9) { continue; }
    CHECK(told(trip_of([&] { shares.check(plain - one); }), "loss shares"));
    CHECK(told(trip_of([&] { shares.check(plain + one); }), "loss shares"));
  }
}

TEST_CASE("rl/tripwires: stop token: cut off, or masked by one token too many") {
  Batch cut;
  cut.group.rollouts[1].ids.pop_back();
  cut.group.rollouts[1].logp.pop_back();
  CHECK(told(cut.update(), "stop token"));
  Batch batch;
  const TrainItem item{&batch.group, &batch.group.rollouts[0]};
  const std::size_t n = item.rollout->ids.size();
  std::vector<TokenInput> tokens(n);
  const std::vector<Token> end = {0};
  CHECK(trip_of([&] { tripwire::stop_token(item, tokens, end); }).empty());
  tokens.back().active = false;  // the mask is one short
  const std::string message = trip_of([&] { tripwire::stop_token(item, tokens, end); });
  CHECK(told(message, "stop token"));
  CHECK(message.find("its stop token") != std::string::npos);
  tokens.back().active = true;
  tokens.front().active = false;  // ... or shifted
  CHECK(told(trip_of([&] { tripwire::stop_token(item, tokens, end); }), "stop token"));
  tokens.front().active = true;
  tokens.pop_back();
  CHECK(told(trip_of([&] { tripwire::stop_token(item, tokens, end); }), "stop token"));
  TrainItem left_out = item;
  left_out.left_out = true;
  tokens.assign(n, {});
  CHECK(told(trip_of([&] { tripwire::stop_token(left_out, tokens, end); }), "stop token"));
}

TEST_CASE("rl/tripwires: finite: a log-probability, a loss, a gradient") {
  Batch batch;
  batch.group.rollouts[3].advantage = std::numeric_limits<double>::infinity();
  CHECK(told(batch.update(), "finite"));
  Batch diverged;
  diverged.model->params().all().front().value.span<float>()[0] = std::nanf("");
  diverged.model->params().touch();
  CHECK(told(diverged.update(), "finite"));
  CHECK(trip_of([&] { tripwire::finite_logp(std::vector<float>{-1, std::nanf("")}, "log pi"); }).find("log pi of token 1") != std::string::npos);
  CHECK(told(trip_of([&] { tripwire::finite_loss(HUGE_VAL); }), "finite"));
}

TEST_CASE("rl/tripwires: token trail: rows that are not the logged loss") {
  CHECK(trip_of([&] { tripwire::trail_loss(3, 0.5, 0.5); }).empty());
  CHECK(told(trip_of([&] { tripwire::trail_loss(3, 0.5, std::nextafter(0.5, 1.0)); }), "token trail"));
}

TEST_CASE("rl/tripwires: docs/audit.md has a section for each") {
  const std::string page = read_file(std::string(MINIRL_SOURCE_DIR) + "/docs/audit.md");
  std::set<std::string_view> names;
  for (const std::string_view name : tripwire_names()) {
    CHECK_MESSAGE(page.find(fmt::format("\n### {}\n", name)) != std::string::npos, name);
    names.insert(name);
  }
  CHECK(names.size() == 7);
}

}  // namespace minirl::rl
