// minirl explain: what a loss does to one token, in numbers and words.
#include "audit/explain.h"

#include <cstdio>

#include "cli/commands.h"
#include "cli/config_args.h"

namespace minirl::cli {
namespace {

struct ExplainArgs {
  std::string algorithm;
  std::vector<std::string> params, tokens, topk;
  bool json = false;
};

ParamMap parse_params(const std::vector<std::string>& assignments) {
  ParamMap out;
  for (const std::string& text : assignments) {
    if (!out.insert(parse_parameter(text)).second) { fail(Exit::usage, fmt::format("'{}' is given twice", text)); }
  }
  return out;
}

Exit explain(const ExplainArgs& args) {
  if (args.algorithm.empty()) {
    if (!args.tokens.empty() || !args.params.empty()) { fail(Exit::usage, "which loss?", "minirl explain NAME --token ..."); }
    std::fputs(audit::algorithm_list_text().c_str(), stdout);
    return Exit::ok;
  }
  if (args.topk.size() > args.tokens.size()) { fail(Exit::usage, fmt::format("{} --topk for {} --token", args.topk.size(), args.tokens.size()), "each belongs to the token at the same place"); }
  std::vector<audit::TokenSpec> tokens;
  for (std::size_t i = 0; i < args.tokens.size(); ++i) { tokens.push_back(audit::parse_token(args.tokens[i], i < args.topk.size() ? args.topk[i] : "")); }
  const audit::Explanation e = audit::explain(args.algorithm, parse_params(args.params), tokens);
  std::fputs((args.json ? audit::explanation_json(e) : audit::explanation_text(e)).c_str(), stdout);
  return Exit::ok;
}

}  // namespace

void add_explain(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("explain", "what a loss does to one token, and what the others would do; alone: the list of losses");
  const auto args = std::make_shared<ExplainArgs>();
  command->add_option("LOSS", args->algorithm, "a loss or preset");
  command->add_option("PARAMETER", args->params, "parameters of the loss: delta=0.2 ...");
  command->add_option("--token", args->tokens, "mu=P,pi=P,A=NUMBER[,old=P]; repeated: the tokens of one sequence")->take_all()->allow_extra_args(false)->type_name("TOKEN");
  command->add_option("--topk", args->topk, "other likely tokens of that position, mu:pi,mu:pi,... (for Top-K losses)")->take_all()->allow_extra_args(false)->type_name("MU:PI,...");
  command->add_flag("--json", args->json, "for programs");
  command->callback([&chosen, args] { chosen.run = [args] { return explain(*args); }; });
}

}  // namespace minirl::cli
