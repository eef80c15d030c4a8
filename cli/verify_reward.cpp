// minirl verify reward: where the named graders disagree with `math` on a file.
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/answer_rows.h"
#include "cli/verify.h"
#include "rl/reward.h"

namespace minirl::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Args {
  std::string file, reference = "math";
  std::vector<std::string> graders;
  Index examples = 5;
  bool json = false;
};

/// Rows by (reference right, other right) and by disagreement.
struct Agreement {
  const rl::RewardInfo* grader = nullptr;
  Index both = 0, only_reference = 0, only_other = 0, neither = 0;
  std::vector<Json> examples;
};

/// Every grader of answers but the reference and what needs more than two texts.
std::vector<std::string> all_graders(const std::string& reference) {
  std::vector<std::string> out;
  for (const std::string& name : rl::Rewards::names()) {
    const auto& info = rl::Rewards::find("reward", name);
    if (name != reference && !info.of_form && name != "command" && name != "countdown") {
      out.push_back(name);
    }
  }
  return out;
}

/// "only math says right: gold ..., answer ..., because ...".
std::string words(const Json& e, const std::string& reference, const std::string& other) {
  const bool ours = e.at("reference_right").get<bool>();
  return fmt::format(
      "  {}: only {} says right; gold \"{}\", {} read \"{}\" ({}), {} read \"{}\" ({})\n",
      e.at("where").get<std::string>(), ours ? reference : other,
      one_line(e.at("gold").get<std::string>()), reference,
      one_line(e.at("reference_answer").get<std::string>()),
      one_line(e.at("reference_why").get<std::string>()), other,
      one_line(e.at("answer").get<std::string>()), one_line(e.at("why").get<std::string>()));
}

Exit verify_reward(const Args& args) {
  const auto& reference = rl::Rewards::find("reward", args.reference);
  std::vector<Agreement> table;
  for (const auto& name : args.graders.empty() ? all_graders(args.reference) : args.graders) {
    table.emplace_back().grader = &rl::Rewards::find("reward", name);
  }
  const auto rows = read_answer_rows(args.file);
  Index bad_golds = 0;
  for (const AnswerRow& row : rows) {
    bad_golds += reference.check_gold(row.gold).empty() ? 0 : 1;
    const rl::RewardResult ours = reference.score(row.gold, row.completion);
    for (Agreement& a : table) {
      const rl::RewardResult theirs = a.grader->score(row.gold, row.completion);
      const bool x = ours.score > 0;
      const bool y = theirs.score > 0;
      ++(x ? (y ? a.both : a.only_reference) : (y ? a.only_other : a.neither));
      if (x != y && static_cast<Index>(a.examples.size()) < args.examples) {
        a.examples.push_back({{"where", row.where},
                              {"id", row.id},
                              {"gold", row.gold},
                              {"reference_right", x},
                              {"reference_answer", ours.extracted},
                              {"reference_why", ours.why},
                              {"right", y},
                              {"answer", theirs.extracted},
                              {"why", theirs.why}});
      }
    }
  }
  const auto total = static_cast<Index>(rows.size());
  if (args.json) {
    Json doc = {{"file", args.file},
                {"rows", total},
                {"reference", args.reference},
                {"bad_golds", bad_golds},
                {"graders", Json::array()}};
    for (const Agreement& a : table) {
      doc["graders"].push_back({{"name", a.grader->name},
                                {"both_right", a.both},
                                {"only_reference", a.only_reference},
                                {"only_grader", a.only_other},
                                {"neither", a.neither},
                                {"agree", a.both + a.neither},
                                {"examples", a.examples}});
    }
    std::fputs((doc.dump(1, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stdout);
    return Exit::ok;
  }
  std::string out = fmt::format(
      "{} rows of {}, {} golds that {} cannot score\n\n{:<18}{:>10}{:>12}{:>12}{:>12}{:>12}\n",
      total, args.file, bad_golds, args.reference, "grader", "agree", "both right",
      "only " + args.reference, "only it", "neither");
  for (const Agreement& a : table) {
    out += fmt::format("{:<18}{:>9.1f}%{:>12}{:>12}{:>12}{:>12}\n", a.grader->name,
                       100.0 * static_cast<double>(a.both + a.neither) / static_cast<double>(total),
                       a.both, a.only_reference, a.only_other, a.neither);
  }
  for (const Agreement& a : table) {
    if (!a.examples.empty()) {
      out += fmt::format("\n{} against {}: {} of {} disagreements\n", args.reference,
                         a.grader->name, a.examples.size(), a.only_reference + a.only_other);
      for (const Json& e : a.examples) {
        out += words(e, args.reference, a.grader->name);
      }
    }
  }
  std::fputs(out.c_str(), stdout);
  return Exit::ok;
}

void add(CLI::App& verify, Chosen& chosen) {
  const auto args = std::make_shared<Args>();
  auto* command =
      verify.add_subcommand("reward", "where other graders disagree with `math` on a file");
  command->add_option("FILE", args->file, "JSON lines {\"gold\", \"completion\"}")->required();
  command->add_option("--graders", args->graders, "registered rewards; without it: all of answers")
      ->type_name("NAME")
      ->delimiter(',');
  command->add_option("--reference", args->reference, "the reward that they are compared with")
      ->type_name("NAME");
  command->add_option("--examples", args->examples, "disagreements printed for each grader")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", args->json, "one JSON document");
  command->callback([&chosen, args] { chosen.run = [args] { return verify_reward(*args); }; });
}

const bool registered = VerifyCommands::add("reward", {&add});

}  // namespace
}  // namespace minirl::cli
