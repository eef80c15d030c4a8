#include "audit/losslab.h"

#include <algorithm>
#include <cmath>

#include "data/task.h"
#include "rl/algorithm_registry.h"
#include "rl/loss_config.h"
#include "rl/rollout_policy.h"
#include "rl/trainer.h"

namespace minirl::audit {
namespace {

constexpr std::uint64_t kCoinTag = 0x6c6f73736c6162;  // rewards of a made batch

void toss_rewards(std::vector<rl::Group>& groups, std::uint64_t seed) {
  rng::Random coin(rng::Key::of(seed, rng::Stream::sample).derive(kCoinTag));
  for (rl::Group& g : groups) {
    for (rl::Rollout& r : g.rollouts) { r.reward = (coin.bits() & 1U) != 0 ? 1 : 0; }
  }
}

// The recorded top-K of a batch cut down to the K of one loss.
struct Sliced {
  std::vector<rl::Rollout> rollouts;
  std::vector<rl::TrainItem> items;
};

template <class T>
std::vector<T> first_columns(const std::vector<T>& from, std::size_t have, std::size_t want) {
  std::vector<T> out;
  if (want == 0) { return out; }  // also where nothing was recorded: have = 0
  for (std::size_t row = 0; row + have <= from.size(); row += have) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(want));
  }
  return out;
}

Sliced slice_topk(const LabBatch& batch, Index want) {
  Sliced out;
  out.rollouts.reserve(batch.items.size());
  for (const rl::TrainItem& item : batch.items) {
    rl::Rollout r = *item.rollout;
    rl::TrainItem copy = item;
    const auto k = static_cast<std::size_t>(want);
    const std::size_t have = r.ids.empty() ? 0 : r.topk_ids.size() / r.ids.size();
    MINIRL_CHECK(k <= have, "K = {} of {} recorded", want, have);
    r.topk_ids = first_columns(r.topk_ids, have, k);
    r.topk_logp = first_columns(r.topk_logp, have, k);
    copy.topk_logp_recomputed = first_columns(copy.topk_logp_recomputed, have, k);
    out.rollouts.push_back(std::move(r));
    copy.rollout = &out.rollouts.back();
    out.items.push_back(std::move(copy));
  }
  return out;
}

using Gradient = std::vector<float>;

Gradient take_gradient(Params& params, const Exec& exec) {
  params.combine_grads(exec);
  Gradient out;
  for (Param& p : params.all()) {
    const auto g = p.grad(0).span<float>();
    out.insert(out.end(), g.begin(), g.end());
  }
  params.zero_grads();
  return out;
}

double dot(const Gradient& a, const Gradient& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) { sum += static_cast<double>(a[i]) * static_cast<double>(b[i]); }
  return sum;
}

// theta + step * direction in a model of f64.
void move_along(Decoder& model, const Params& from, const Gradient& direction, double step) {
  std::size_t i = 0;
  auto source = from.all().begin();
  for (Param& p : model.params().all()) {
    const auto values = source->value.span<float>();
    const auto out = p.value.span<double>();
    for (std::size_t j = 0; j < out.size(); ++j) { out[j] = static_cast<double>(values[j]) + step * static_cast<double>(direction[i++]); }
    ++source;
  }
  model.params().touch();
}

// The frozen coefficients of a batch under one loss.
struct Frozen {
  std::vector<std::vector<double>> factor;  // aggregation weight times d loss / d log pi
  std::vector<double> weight;               // of each sequence
};

struct Values {
  double chain = 0, loss = 0;
};

// sum_t c_t g_t log pi_t with g frozen, and the loss itself, at the weights of `model`.
Values values_at(Decoder& model, const rl::Algorithm& algorithm, const std::vector<rl::TrainItem>& items, const Frozen& frozen, const rl::MicroBatchOptions& micro,
                 const Exec& exec, bool with_loss) {
  std::vector<rl::ScoredSequence> sequences;
  for (const rl::TrainItem& item : items) { sequences.push_back({item.group->prompt, item.rollout->ids, {}}); }
  rl::MicroBatchOptions plain = micro;
  plain.entropy = false;
  plain.topk = 0;
  const auto logp = rl::score_sequences_f64(model, exec, sequences, plain);
  Values out;
  for (std::size_t s = 0; s < items.size(); ++s) {
    std::vector<rl::TokenInput> tokens;
    for (std::size_t t = 0; t < logp[s].size(); ++t) {
      out.chain += frozen.factor[s][t] * logp[s][t];
      if (with_loss) {
        const auto old = items[s].logp_recomputed.empty() ? std::nullopt : std::optional<double>(static_cast<double>(items[s].logp_recomputed[t]));
        tokens.push_back(rl::TokenInput::from_logs(logp[s][t], static_cast<double>(items[s].rollout->logp[t]), items[s].rollout->advantage, old));
      }
    }
    if (with_loss) {
      std::vector<rl::TokenResult> results(tokens.size());
      algorithm.evaluate_tokens(tokens, results);
      for (const rl::TokenResult& r : results) { out.loss += frozen.weight[s] * r.loss; }
    }
  }
  return out;
}

double relative(double a, double b) {
  const double scale = std::max(std::fabs(a), std::fabs(b));
  return scale > 0 ? std::fabs(a - b) / scale : 0;
}

void summarize_tokens(LabResult& r, const std::vector<LabToken>& tokens) {
  double n = 0, positive = 0, negative = 0, masked_p = 0, masked_n = 0, corrective = 0, sum = 0;
  r.weight_min = HUGE_VAL;
  r.weight_max = -HUGE_VAL;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double a = tokens[i].input.advantage;
    const rl::TokenResult& t = r.tokens[i];
    n += 1;
    positive += a > 0 ? 1 : 0;
    negative += a < 0 ? 1 : 0;
    masked_p += a > 0 && t.masked() ? 1 : 0;
    masked_n += a < 0 && t.masked() ? 1 : 0;
    corrective += a != 0 && t.weight < 0 ? 1 : 0;
    sum += t.weight;
    r.weight_min = std::min(r.weight_min, t.weight);
    r.weight_max = std::max(r.weight_max, t.weight);
  }
  const auto per = [](double a, double b) { return b > 0 ? a / b : 0; };
  r.masked = per(masked_p + masked_n, n);
  r.masked_positive = per(masked_p, positive);
  r.masked_negative = per(masked_n, negative);
  r.corrective = per(corrective, n);
  r.weight_mean = per(sum, n);
}

}  // namespace

LabBatch make_lab_batch(std::unique_ptr<Decoder> model, const data::Tokenizer& tokenizer, const rl::LoadedConfig& loaded, const LabOptions& options, const Exec& exec) {
  const rl::Config& config = loaded.config;
  const auto seed = static_cast<std::uint64_t>(config.run.seed);
  const rl::Problems problems = rl::open_problems(config, tokenizer, model->config().max_positions);
  const auto algorithm = rl::make_algorithm(config.algorithm.name, config.algorithm.params);
  LabBatch batch;
  batch.live = std::move(model);
  Decoder& live = *batch.live;
  const Index topk = std::max(options.topk, algorithm->traits().topk);

  std::vector<data::Example> examples;
  for (Index i = 0; i < options.prompts; ++i) { examples.push_back(problems.task->train_example(seed, options.step * config.rollout.prompts_per_step + i)); }
  const rl::MismatchOptions mismatch = rl::mismatch_options(config);
  rl::RolloutPolicy policy(live, mismatch, config.rollout.ema_decay);
  SamplerOptions sampling = rl::sampler_options(config, tokenizer, config.rollout.temperature);
  if (topk > tokenizer.vocab_size()) { fail(Exit::usage, fmt::format("algorithm.topk = {} is more than the {} ids of the vocabulary", topk, tokenizer.vocab_size())); }
  sampling.topk = topk;
  rl::apply_mismatch(mismatch, sampling);
  const rl::GenerateOptions generate{sampling, config.rollout.group_size, rng::Key::of(seed, rng::Stream::rollout).derive(static_cast<std::uint64_t>(options.step)), 0, problems.format.get()};
  batch.groups = rl::generate_groups(policy.model(), tokenizer, examples, generate, exec);
  rl::score_groups(batch.groups, rl::reward_options(config), exec.threads);
  if (options.made_rewards) { toss_rewards(batch.groups, seed); }
  rl::set_advantages(batch.groups, rl::advantage_options(config));

  std::vector<rl::ScoredSequence> sequences;
  for (const rl::Group& g : batch.groups) {
    for (const rl::Rollout& r : g.rollouts) {
      batch.items.push_back({&g, &r});
      sequences.push_back({g.prompt, r.ids, r.topk_ids});
    }
  }
  batch.micro = {config.rollout.temperature, config.train.tokens_per_micro, false, tokenizer.vocab_size(), sampling.topk};
  auto scores = rl::score_sequences(live, exec, sequences, batch.micro);
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    batch.items[i].logp_recomputed = std::move(scores[i].logp);
    batch.items[i].topk_logp_recomputed = std::move(scores[i].topk_logp);
  }
  batch.micro.topk = 0;
  batch.loss.agg_mode = rl::agg_mode_from_name(config.algorithm.loss_agg_mode);
  batch.loss.horizon = static_cast<double>(config.horizon());

  // The drift: what the run's own algorithm would do to these rollouts.
  const auto optimizer = rl::make_optimizer(config, rl::Phase::train, live.params());
  rl::UpdateOptions update;
  update.loss = batch.loss;
  if (algorithm->traits().needs_seq_mean_token_mean) { update.loss.agg_mode = rl::AggMode::seq_mean_token_mean; }
  update.micro = batch.micro;
  update.learning_rate = options.drift_lr > 0 ? options.drift_lr : config.train.lr;
  const Sliced own = slice_topk(batch, algorithm->traits().topk);
  for (Index u = 0; u < options.drift; ++u) {
    rl::PolicyMetrics metrics(algorithm->traits());
    rl::update_policy(live, *optimizer, *algorithm, own.items, update, exec, metrics);
  }
  batch.origin = fmt::format("{} prompts x {} completions of the task {}, {}; mu is the policy that sampled{}; pi is {} updates of {} at learning rate {:g} later", options.prompts,
                             config.rollout.group_size, config.task.name, options.made_rewards ? "rewards are seeded coin flips" : "scored by the reward " + config.reward.name,
                             policy.exact() ? "" : " (the mismatch dial is on)", options.drift, config.algorithm.name, update.learning_rate);
  return batch;
}

LabReport run_losslab(LabBatch& batch, const std::vector<LabLoss>& losses, const Exec& exec) {
  LabReport report;
  report.origin = batch.origin;
  report.sequences = batch.items.size();
  std::vector<Gradient> gradients;
  Params& params = batch.live->params();
  const auto probe = make_decoder(batch.live->config(), DType::f64, 0);
  for (const LabLoss& loss : losses) {
    const auto algorithm = rl::make_algorithm(loss.name, loss.params);
    const rl::AlgorithmInfo info = rl::algorithm_info(loss.name);
    LabResult result;
    result.loss = loss;
    result.formula = info.formula;
    result.page = info.page;
    rl::UpdateOptions options;
    options.loss = batch.loss;
    if (algorithm->traits().needs_seq_mean_token_mean) { options.loss.agg_mode = rl::AggMode::seq_mean_token_mean; }
    result.aggregation = std::string(rl::agg_mode_name(options.loss.agg_mode));
    options.micro = batch.micro;
    const Sliced sliced = slice_topk(batch, algorithm->traits().topk);
    Frozen frozen;
    const bool first = report.tokens.empty();
    const rl::UpdateReport update = rl::accumulate_policy_gradient(*batch.live, *algorithm, sliced.items, options, exec, [&](const rl::SequenceOutcome& o) {
      frozen.weight.push_back(o.token_weight);
      auto& factors = frozen.factor.emplace_back();
      for (std::size_t t = 0; t < o.tokens.size(); ++t) {
        factors.push_back(o.token_weight * o.results[t].dlogp);
        result.tokens.push_back(o.results[t]);
        if (first) { report.tokens.push_back({o.index, t, batch.items[o.index].rollout->ids[t], o.tokens[t]}); }
      }
    });
    result.value = update.loss;
    gradients.push_back(take_gradient(params, exec));
    const Gradient& g = gradients.back();
    result.gradient_norm = std::sqrt(dot(g, g));
    summarize_tokens(result, report.tokens);
    const bool smooth = algorithm->traits().ratio_form && !algorithm->traits().needs_topk;
    result.loss_error = std::nan("");
    if (result.gradient_norm > 0) {
      const double step = 1e-4 / result.gradient_norm;  // a move of 1e-4 in the norm of all weights
      move_along(*probe, params, g, step);
      const Values up = values_at(*probe, *algorithm, sliced.items, frozen, options.micro, exec, smooth);
      move_along(*probe, params, g, -step);
      const Values down = values_at(*probe, *algorithm, sliced.items, frozen, options.micro, exec, smooth);
      const double slope = dot(g, g);
      result.chain_error = relative((up.chain - down.chain) / (2 * step), slope);
      if (smooth) { result.loss_error = relative((up.loss - down.loss) / (2 * step), slope); }
    }
    report.results.push_back(std::move(result));
  }
  for (std::size_t a = 0; a < gradients.size(); ++a) {
    auto& row = report.cosine.emplace_back();
    for (std::size_t b = 0; b < gradients.size(); ++b) {
      const double norms = report.results[a].gradient_norm * report.results[b].gradient_norm;
      row.push_back(norms > 0 ? dot(gradients[a], gradients[b]) / norms : std::nan(""));
    }
  }
  report.ratio_min = HUGE_VAL;
  for (const LabToken& t : report.tokens) {
    report.prob_absdiff_mean += std::fabs(t.input.pi - t.input.rollout.p) / static_cast<double>(report.tokens.size());
    report.ratio_min = std::min(report.ratio_min, t.input.rollout.ratio);
    report.ratio_max = std::max(report.ratio_max, t.input.rollout.ratio);
  }
  return report;
}

}  // namespace minirl::audit
