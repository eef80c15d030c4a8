// minirl audit/experiment.h -- a question put to several settings over several seeds: runs, statistics
// over seeds, and claims that the numbers support or do not. Declared in configs/experiments/*.toml.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"
#include "core/error.h"
#include "rl/statistics.h"

namespace minirl::audit {

/// One setting: a name, and what it changes in the base configuration.
struct Arm {
  std::string name;                // for claims and folders
  std::string label;               // for people
  std::vector<std::string> sets;   // "algorithm.name=pg_is"
};

/// A sentence of the literature as an inequality: `better` has the larger `metric` than `worse`, paired
/// by seed.
struct Claim {
  std::string text, source, metric, better, worse;
};

struct Experiment {
  std::string name;      // of the file
  std::string title, question, setup;
  std::string base;      // bundled configuration
  std::vector<Index> seeds;
  std::vector<std::string> sets;     // for every arm
  std::vector<std::string> curves;   // metrics to draw
  bool masked_tokens = false;        // count masked tokens by id and sign
  std::vector<Arm> arms;
  std::vector<Claim> claims;
};
/// Throws Exit::usage with file and line for anything that is not understood.
Experiment parse_experiment(const std::string& name, std::string_view toml);

/// Metrics that a claim or a table can name, computed from the rows of metrics.jsonl and eval/.
///   final_reward   mean of reward/mean over the last quarter of the steps
///   best_reward    largest mean of reward/mean over a window of a tenth of the steps
///   drop           best_reward - final_reward: how much was lost again
///   final_eval     avg@k of the last evaluation
///   entropy, prob_absdiff, masked, bad_updates, grad_norm   means over the last quarter
///   area           mean of reward/mean over all steps: speed
std::vector<std::string> outcome_names();

struct ArmResult {
  Arm arm;
  std::vector<std::filesystem::path> runs;                    // one a seed
  std::map<std::string, std::vector<double>> outcomes;        // by metric, one value a seed
  std::map<std::string, std::vector<std::vector<double>>> curves;  // by metric: [seed][step]
  std::vector<std::string> failures;                          // per seed: why the run stopped, or ""
};

struct ClaimResult {
  Claim claim;
  rl::Interval difference;  // better - worse, over seeds
  enum class Verdict { agrees, disagrees, undecided } verdict = Verdict::undecided;
};

/// What is masked most: one token id under one sign of the advantage.
struct MaskedToken {
  std::string text;
  double count = 0;     // masked
  double seen = 0;      // tokens of this id and sign
  double mu = 0, pi = 0, entropy = 0;  // means over the masked ones
};
struct MaskedTokens {
  std::vector<MaskedToken> positive, negative;  // most masked first, all seeds together
};

struct ExperimentResult {
  Experiment experiment;
  std::vector<ArmResult> arms;
  std::vector<ClaimResult> claims;
  std::map<std::string, MaskedTokens> masked;  // by arm
};

struct ExperimentOptions {
  std::filesystem::path out;         // runs are in out/runs, shared by experiments
  std::vector<Index> seeds;          // empty: those of the experiment
  std::vector<std::string> sets;     // on top of everything
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say;  // progress, one line
  std::function<ConfigSource(const std::string&)> find_config;
};
/// Runs what is not finished yet, one run after the other, and gathers the numbers. A run that stops at a
/// tripwire (a diverged policy) counts with what it reached. Resumable: finished runs are kept by the hash of
/// their configuration, an unfinished one starts again.
ExperimentResult run_experiment(const Experiment& experiment, const ExperimentOptions& options);

/// Statistics and verdicts alone, from gathered arms.
std::vector<ClaimResult> judge(const Experiment& experiment, const std::vector<ArmResult>& arms);

std::string experiment_markdown(const ExperimentResult& result, const std::string& command);
std::string experiment_html(const ExperimentResult& result, const std::string& command);

}  // namespace minirl::audit
