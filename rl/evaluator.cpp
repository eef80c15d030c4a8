#include "rl/evaluator.h"

#include "rl/trainer.h"
#include "rl/verifier/verify.h"

namespace minirl::rl {
namespace {

// Text without whitespace: what two samples that answer alike usually share.
std::string bare(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      out += c;
    }
  }
  return out;
}

struct Answers {
  std::string text;
  Index votes = 0;
  bool right = false;
};

bool same_answer(const Answers& a, const std::string& text) {
  return a.text == text || verifier::compare(a.text, text).outcome == verifier::Outcome::right;
}

ProblemScore score_of(const Group& group, TruncatedReward truncated) {
  ProblemScore out;
  for (const Rollout& r : group.rollouts) {
    out.average += r.reward;
    out.correct += r.reward >= 1 ? 1 : 0;
    out.answered += r.verdict.answered ? 1 : 0;
    out.truncated += r.stopped ? 0 : 1;
    out.length_mean += static_cast<double>(r.ids.size());
  }
  const auto n = static_cast<double>(group.rollouts.size());
  out.average /= n;
  out.length_mean /= n;
  out.majority = majority_right(group, truncated);
  return out;
}

}  // namespace

EvalOptions eval_options(const Config& config, const data::Tokenizer& tokenizer,
                         const data::PromptFormat& format) {
  EvalOptions out;
  out.samples = config.eval.samples;
  out.sampling.temperature = config.eval.temperature;
  out.sampling.top_k = std::max<Index>(config.eval.top_k, 0);
  out.sampling.top_p = config.eval.top_p;
  out.sampling.max_new_tokens = config.rollout.max_new_tokens;
  out.sampling.max_batch = config.rollout.max_batch;
  out.sampling.stop_ids = tokenizer.end_tokens();
  out.sampling.vocabulary = tokenizer.vocab_size();
  out.seed = static_cast<std::uint64_t>(config.run.seed);
  out.reward = reward_options(config);
  out.format = &format;
  return out;
}

double majority_right(const Group& group, TruncatedReward truncated) {
  std::vector<Answers> answers;
  for (const Rollout& r : group.rollouts) {
    if (!r.verdict.answered || (!r.stopped && truncated == TruncatedReward::zero)) {
      continue;
    }
    const bool right = r.verdict.score >= 1;
    const std::string text = bare(r.verdict.extracted);
    Answers* found = nullptr;
    for (Answers& a : answers) {
      if (found == nullptr && a.right == right && (right || same_answer(a, text))) {
        found = &a;
      }
    }
    if (found == nullptr) {
      found = &answers.emplace_back(Answers{text, 0, right});
    }
    ++found->votes;
  }
  Index most = 0;
  for (const Answers& a : answers) {
    most = std::max(most, a.votes);
  }
  double first = 0;
  double right = 0;
  for (const Answers& a : answers) {
    first += a.votes == most ? 1 : 0;
    right += a.votes == most && a.right ? 1 : 0;
  }
  return first > 0 ? right / first : 0;
}

EvalResult evaluate(Decoder& model, const data::Tokenizer& tokenizer,
                    std::span<const data::Example> problems, const EvalOptions& options,
                    const Exec& exec, const std::function<bool()>& interrupted) {
  EvalResult out;
  out.problems = static_cast<Index>(problems.size());
  out.samples = options.samples;
  out.reward = options.reward.reward->name;
  out.temperature = options.sampling.temperature;
  out.greedy = options.sampling.greedy;
  out.sampling = options.sampling;
  out.seed = options.seed;
  out.chat_template = options.format != nullptr ? options.format->template_name() : "plain";
  GenerateOptions generate;
  generate.sampling = options.sampling;
  generate.group_size = options.samples;
  generate.key = rng::Key::of(options.seed, rng::Stream::evaluation);
  generate.format = options.format;
  out.groups = generate_groups(model, tokenizer, problems, generate, exec, nullptr, interrupted);
  RewardOptions answers = options.reward;  // avg@k counts right answers: no bonus for form, no penalty for length
  answers.weight = 1;
  answers.extra.clear();
  if (answers.truncated == TruncatedReward::soft) { answers.truncated = TruncatedReward::keep; }
  score_groups(out.groups, answers, exec.threads);
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<double>> majorities;
  std::vector<Trials> trials;
  for (const Group& g : out.groups) {
    std::vector<double>& own = scores.emplace_back();
    for (const Rollout& r : g.rollouts) {
      own.push_back(r.reward);
    }
    out.scores.push_back(score_of(g, options.reward.truncated));
    trials.push_back({options.samples, out.scores.back().correct});
    majorities.push_back({out.scores.back().majority});
  }
  out.average = average_at_k(scores);
  out.majority = average_at_k(majorities);
  for (Index k = 1; k <= options.samples; k *= 2) {
    out.passes.emplace_back(k, pass_at_k(trials, k));
  }
  out.pass = pass_at_k(trials, options.samples);
  if (out.passes.back().first != options.samples) {
    out.passes.emplace_back(options.samples, out.pass);
  }
  const RolloutSummary s = summarize(out.groups);
  out.length_mean = s.length_mean;
  out.truncated_frac = s.truncated_frac;
  out.answered_frac = s.answered_frac;
  out.duplicate_frac = s.duplicate_frac;
  return out;
}

}  // namespace minirl::rl
