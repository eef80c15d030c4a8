// minirl audit/explain.h -- one token (or a few, as one sequence) under a loss, with every number and
// its reason; and the same token under all other losses.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl/algorithm_registry.h"

namespace minirl::audit {

/// A token as a person writes it: "mu=0.3,pi=0.5,A=1", with old=... (pi_old, default mu) and ref=...
struct TokenSpec {
  double mu = 0, pi = 0, advantage = 0;
  std::optional<double> old;
  // Other likely tokens of this position as (mu, pi), for the Top-K losses; the sampled one is a class
  // of its own. Empty: Top-K sees the sampled token and the rest, which is Binary.
  std::vector<std::pair<double, double>> others;
};
/// Throws Exit::usage with the position of the mistake. `topk`: "0.4:0.3,0.1:0.2" (mu:pi), or empty.
TokenSpec parse_token(const std::string& text, const std::string& topk = {});

struct Explanation {
  struct Row {
    std::string name;               // with parameters
    rl::TokenResult result;         // of the token
    std::vector<std::string> why;   // reasons in words
  };
  std::string algorithm, parameters, summary, formula, page;
  rl::WeightRange range;
  bool sequence_level = false;
  std::vector<TokenSpec> tokens;
  std::vector<rl::TokenInput> inputs;
  std::vector<rl::TokenResult> results;
  std::vector<std::optional<rl::Boundary>> boundaries;  // around the anchor of each token
  std::vector<std::vector<Row>> others;  // per token: every other loss with its defaults, and presets
};

/// Throws Exit::usage for an unknown loss, a bad parameter or no token.
Explanation explain(const std::string& algorithm, const ParamMap& params,
                    const std::vector<TokenSpec>& tokens);
std::string explanation_text(const Explanation& e);
std::string explanation_json(const Explanation& e);

/// Every loss and preset, one line each, by family.
std::string algorithm_list_text();
/// Names that can be built without further parameters: losses with complete defaults, and presets.
std::vector<std::string> comparable_algorithms();

}  // namespace minirl::audit
