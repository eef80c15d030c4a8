// minirl rl/evaluator.h -- avg@k and pass@k on held-out problems, with intervals.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "rl/rollout.h"
#include "rl/statistics.h"

namespace minirl::rl {

struct EvalOptions {
  Index samples = 8;            // k
  SamplerOptions sampling;
  std::uint64_t seed = 0;       // the same keys at every evaluation of a run: differences are the policy's
  RewardOptions reward;
};

struct EvalResult {
  Index problems = 0, samples = 0;
  Interval average;                  // avg@k
  Interval pass;                     // pass@k
  double length_mean = 0;            // tokens
  double truncated_frac = 0, answered_frac = 0;
  std::string reward;                // name of the grader
  double temperature = 1;
  bool greedy = false;
  std::vector<Group> groups;         // every completion, for tables and files
};

EvalResult evaluate(Decoder& model, const data::Tokenizer& tokenizer, std::span<const data::Example> problems, const EvalOptions& options,
                    const Exec& exec, const std::function<bool()>& interrupted = {});

/// One JSON document: settings as they were used, both estimates with intervals, one row a problem.
std::string eval_json(const EvalResult& result, Index step);

}  // namespace minirl::rl
