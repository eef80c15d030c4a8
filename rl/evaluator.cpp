#include "rl/evaluator.h"

#include <nlohmann/json.hpp>

namespace minirl::rl {

EvalResult evaluate(Decoder& model, const data::Tokenizer& tokenizer, std::span<const data::Example> problems, const EvalOptions& options,
                    const Exec& exec, const std::function<bool()>& interrupted) {
  EvalResult out;
  out.problems = static_cast<Index>(problems.size());
  out.samples = options.samples;
  out.reward = options.reward.reward->name;
  out.temperature = options.sampling.temperature;
  out.greedy = options.sampling.greedy;
  const GenerateOptions generate{options.sampling, options.samples, rng::Key::of(options.seed, rng::Stream::evaluation)};
  out.groups = generate_groups(model, tokenizer, problems, generate, exec, nullptr, interrupted);
  RewardOptions answers = options.reward;  // avg@k counts right answers: no bonus for form, no penalty for length
  answers.weight = 1;
  answers.extra.clear();
  if (answers.truncated == TruncatedReward::soft) { answers.truncated = TruncatedReward::keep; }
  score_groups(out.groups, answers, exec.threads);
  std::vector<std::vector<double>> scores;
  std::vector<Trials> trials;
  for (const Group& g : out.groups) {
    scores.emplace_back();
    Trials t;
    for (const Rollout& r : g.rollouts) {
      scores.back().push_back(r.reward);
      ++t.samples;
      t.correct += r.reward >= 1 ? 1 : 0;
    }
    trials.push_back(t);
  }
  out.average = average_at_k(scores);
  out.pass = pass_at_k(trials, options.samples);
  const RolloutSummary s = summarize(out.groups);
  out.length_mean = s.length_mean;
  out.truncated_frac = s.truncated_frac;
  out.answered_frac = s.answered_frac;
  return out;
}

std::string eval_json(const EvalResult& result, Index step) {
  const auto interval = [](const Interval& i) {
    return nlohmann::ordered_json{{"value", i.value}, {"lower", i.lower}, {"upper", i.upper}, {"confidence", i.confidence}, {"method", i.method}};
  };
  nlohmann::ordered_json doc = {{"step", step},
                                {"problems", result.problems},
                                {"samples", result.samples},
                                {"temperature", result.temperature},
                                {"greedy", result.greedy},
                                {"reward", result.reward},
                                {"avg_at_k", interval(result.average)},
                                {"pass_at_k", interval(result.pass)},
                                {"length_mean_tokens", result.length_mean},
                                {"truncated_frac", result.truncated_frac},
                                {"answered_frac", result.answered_frac},
                                {"rows", nlohmann::ordered_json::array()}};
  for (const Group& g : result.groups) {
    nlohmann::ordered_json row = {{"id", g.example.id}, {"prompt", g.example.prompt}, {"answer", g.example.answer}, {"completions", nlohmann::ordered_json::array()}};
    for (const Rollout& r : g.rollouts) {
      row["completions"].push_back({{"text", r.text}, {"reward", r.reward}, {"extracted", r.verdict.extracted}, {"why", r.verdict.why}, {"tokens", r.ids.size()}, {"stopped", r.stopped}});
    }
    doc["rows"].push_back(std::move(row));
  }
  return doc.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace minirl::rl
