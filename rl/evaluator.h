// minirl rl/evaluator.h -- avg@k, pass@k and maj@k on held-out problems, with intervals.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl/config.h"
#include "rl/rollout.h"
#include "rl/statistics.h"

namespace minirl::rl {

struct EvalOptions {
  Index samples = 8;  // k
  SamplerOptions sampling;
  std::uint64_t seed =
      0;  // the same keys at every evaluation of a run: differences are the policy's
  RewardOptions reward;
  const data::PromptFormat* format = nullptr;
};

/// Those of the table [eval].
EvalOptions eval_options(const Config& config, const data::Tokenizer& tokenizer,
                         const data::PromptFormat& format);

/// What one problem's samples came to.
struct ProblemScore {
  double average = 0;   // mean score
  double majority = 0;  // chance that the most frequent answer is right (stat.8)
  Index correct = 0, answered = 0, truncated = 0;
  double length_mean = 0;  // tokens
};

struct EvalResult {
  Index problems = 0, samples = 0;
  Interval average;                                // avg@k
  Interval pass;                                   // pass@k
  Interval majority;                               // maj@k
  std::vector<std::pair<Index, Interval>> passes;  // pass@1, 2, 4, ... up to k
  double length_mean = 0;                          // tokens
  double truncated_frac = 0, answered_frac = 0, duplicate_frac = 0;
  std::string reward;  // name of the grader
  double temperature = 1;
  bool greedy = false;
  SamplerOptions sampling;  // as it was used
  std::uint64_t seed = 0;
  std::string chat_template;
  std::vector<ProblemScore> scores;
  std::vector<Group> groups;  // every completion, for tables and files
};

/// Every problem counts once, whatever max_batch is. When interrupted it throws: nothing is scored
/// from unfinished samples.
EvalResult evaluate(Decoder& model, const data::Tokenizer& tokenizer,
                    std::span<const data::Example> problems, const EvalOptions& options,
                    const Exec& exec, const std::function<bool()>& interrupted = {});

/// Chance that the most frequent answer of the samples is right, where of several equally frequent
/// ones each is as likely to be taken. Samples without an answer do not vote; answers are equal
/// when their texts or, as numbers, their values are. (stat.8)
double majority_right(const Group& group, TruncatedReward truncated);

/// One JSON document: grader and settings as they were used, estimates with intervals, one row a
/// problem.
std::string eval_json(const EvalResult& result, Index step);
/// One line a problem.
std::string eval_table(const EvalResult& result);

}  // namespace minirl::rl
