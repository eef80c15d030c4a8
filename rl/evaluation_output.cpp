// minirl rl/evaluation_output.cpp -- an evaluation as JSON and as a table of its problems.
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "rl/evaluator.h"
#include "rl/summary.h"

namespace minirl::rl {
namespace {

using Json = nlohmann::ordered_json;

Json interval(const Interval& i) {
  return Json{{"value", i.value},           {"lower", i.lower},
              {"upper", i.upper},           {"standard_error", i.standard_error},
              {"confidence", i.confidence}, {"method", i.method}};
}

std::string version() {
  std::string out;
  for (const auto& [name, value] : build_info()) {
    if (name == "version" || name == "commit") {
      out += (out.empty() ? "" : " ") + value;
    }
  }
  return out;
}

Json sampling(const EvalResult& r) {
  const SamplerOptions& s = r.sampling;
  return Json{{"greedy", s.greedy},
              {"temperature", s.temperature},
              {"top_p", s.top_p},
              {"top_k", s.top_k},
              {"filtered", s.filtered()},
              {"logp_of", s.filtered() ? "softmax(logits / T) over the whole vocabulary, not the "
                                         "filtered distribution that was sampled"
                                       : "softmax(logits / T), the distribution that was sampled"},
              {"max_new_tokens", s.max_new_tokens},
              {"end_tokens", s.stop_ids},
              {"seed", r.seed},
              {"template", r.chat_template}};
}

}  // namespace

std::string eval_json(const EvalResult& result, Index step) {
  Json doc = {{"step", step},
              {"problems", result.problems},
              {"samples", result.samples},
              {"temperature", result.temperature},
              {"greedy", result.greedy},
              {"reward", result.reward},
              {"verifier", {{"name", result.reward}, {"version", version()}}},
              {"sampling", sampling(result)},
              {"avg_at_k", interval(result.average)},
              {"pass_at_k", interval(result.pass)},
              {"maj_at_k", interval(result.majority)},
              {"pass_at", Json::array()},
              {"length_mean_tokens", result.length_mean},
              {"truncated_frac", result.truncated_frac},
              {"answered_frac", result.answered_frac},
              {"duplicate_frac", result.duplicate_frac},
              {"rows", Json::array()}};
  for (const auto& [k, value] : result.passes) {
    Json entry = {{"k", k}};
    entry.update(interval(value));
    doc["pass_at"].push_back(std::move(entry));
  }
  for (std::size_t i = 0; i < result.groups.size(); ++i) {
    const Group& g = result.groups[i];
    const ProblemScore& p = result.scores[i];
    Json row = {{"id", g.example.id},         {"label", g.example.label},
                {"prompt", g.example.prompt}, {"answer", g.example.answer},
                {"average", p.average},       {"correct", p.correct},
                {"majority", p.majority},     {"answered", p.answered},
                {"truncated", p.truncated},   {"completions", Json::array()}};
    for (const Rollout& r : g.rollouts) {
      row["completions"].push_back({{"text", r.text},
                                    {"reward", r.reward},
                                    {"extracted", r.verdict.extracted},
                                    {"why", r.verdict.why},
                                    {"tokens", r.ids.size()},
                                    {"stopped", r.stopped}});
    }
    doc["rows"].push_back(std::move(row));
  }
  return doc.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string eval_table(const EvalResult& r) {
  std::string out =
      fmt::format("  {:<14}{:>9}{:>9}{:>9}{:>10}{:>10}{:>9}  {}\n", "problem",
                  fmt::format("avg@{}", r.samples), fmt::format("pass@{}", r.samples),
                  fmt::format("maj@{}", r.samples), "answered", "cut off", "tokens", "prompt");
  for (std::size_t i = 0; i < r.groups.size(); ++i) {
    const ProblemScore& p = r.scores[i];
    const data::Example& e = r.groups[i].example;
    out += fmt::format("  {:<14}{:>9.3f}{:>9}{:>9.2f}{:>10}{:>10}{:>9.1f}  {}\n",
                       visible(e.label.empty() ? fmt::format("{}", e.id) : e.label, 12), p.average,
                       p.correct > 0 ? 1 : 0, p.majority, p.answered, p.truncated, p.length_mean,
                       visible(e.prompt, 50));
  }
  return out;
}

}  // namespace minirl::rl
