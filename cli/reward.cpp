// minirl reward: scores a file of answers, or explains one verdict.
#include "rl/reward.h"

#include <array>
#include <cstdio>
#include <map>

#include "cli/answer_rows.h"
#include "cli/commands.h"
#include "rl/verifier/verify.h"

namespace minirl::cli {
namespace {

struct Args {
  std::string file, gold, completion, reward = "math";
  std::vector<std::string> against;
  std::string line_id;
  bool all = false;
};

void out(const std::string& text) {
  std::fputs(text.c_str(), stdout);
}

/// Rows {"gold", "completion", "expect" (optional)}: a table of verdicts, and of disagreements with
/// other rewards.
Exit test_file(const Args& args) {
  const auto& reward = rl::Rewards::find("reward", args.reward);
  std::vector<const rl::RewardInfo*> others;
  for (const auto& name : args.against) {
    others.push_back(&rl::Rewards::find("reward", name));
  }
  const bool lines_by_id = !args.line_id.empty();
  const auto& line_reward = rl::Rewards::find("reward", "math_answer_line");
  const auto is_line = [&](const AnswerRow& row) {
    return row.id.find(args.line_id) != std::string::npos;
  };
  const auto file_rows = read_answer_rows(args.file);
  Index rows = 0, right = 0, answered = 0, undecided = 0, unexpected = 0, with_expectation = 0,
        bad_golds = 0;
  std::map<std::string, std::array<Index, 4>> agreement;  // both, only ours, only theirs, neither
  for (const AnswerRow& row : file_rows) {
    const std::string& where = row.where;
    const std::string& gold = row.gold;
    const std::string& completion = row.completion;
    const std::string fault = reward.check_gold(gold);
    if (!fault.empty()) {
      ++bad_golds;
      out(fmt::format("{}: bad gold \"{}\": {}\n", where, one_line(gold), fault));
    }
    const rl::RewardResult r =
        (lines_by_id && is_line(row) ? line_reward : reward).score(gold, completion);
    ++rows;
    right += r.score > 0 ? 1 : 0;
    answered += r.answered ? 1 : 0;
    undecided += r.why.starts_with("undecided") ? 1 : 0;
    if (row.expect) {
      ++with_expectation;
      if (*row.expect != (r.score > 0)) {
        ++unexpected;
        out(fmt::format("{}: expected {}, got {}: gold \"{}\", answer \"{}\": {}\n", where,
                        *row.expect ? 1 : 0, r.score, one_line(gold), one_line(r.extracted),
                        r.why));
      }
    }
    if (args.all) {
      out(fmt::format("{}: {} gold \"{}\", answer \"{}\": {}\n", where, r.score, one_line(gold),
                      one_line(r.extracted), r.why));
    }
    for (const auto* other : others) {
      const bool theirs = other->score(gold, completion).score > 0;
      const bool ours = r.score > 0;
      ++agreement[other->name][ours ? (theirs ? 0 : 1) : (theirs ? 2 : 3)];
      if (ours != theirs) {
        out(fmt::format("{}: {} {}, {} {}: gold \"{}\", answer \"{}\": {}\n", where, reward.name,
                        ours ? 1 : 0, other->name, theirs ? 1 : 0, one_line(gold),
                        one_line(r.extracted), r.why));
      }
    }
  }
  out(fmt::format("{}: {} rows, {} right, {} answered, {} undecided, {} bad golds\n", args.reward,
                  rows, right, answered, undecided, bad_golds));
  for (const auto& [name, n] : agreement) {
    out(fmt::format("{} against {}: both {}, only {} {}, only {} {}, neither {}\n", args.reward,
                    name, n[0], args.reward, n[1], name, n[2], n[3]));
  }
  if (with_expectation > 0) {
    out(fmt::format("expected verdicts: {} of {}\n", with_expectation - unexpected,
                    with_expectation));
  }
  return unexpected > 0 ? Exit::mismatch : Exit::ok;
}

Exit explain(const Args& args) {
  const auto& reward = rl::Rewards::find("reward", args.reward);
  const rl::RewardResult r = reward.score(args.gold, args.completion);
  const std::string fault = reward.check_gold(args.gold);
  out(fmt::format("reward     {}\ngold       {}{}\nanswer     {}\n", args.reward, args.gold,
                  fault.empty() ? "" : "   (bad gold: " + fault + ")",
                  r.answered ? r.extracted : "(none)"));
  if (args.reward.starts_with("math") && args.reward != "math_dapo" &&
      args.reward != "math_boxed" && r.answered) {
    const auto v = rl::verifier::compare(args.gold, r.extracted);
    if (!v.gold_tree.empty()) {
      out(fmt::format("gold is    {}\n", v.gold_tree));
    }
    if (!v.answer_tree.empty()) {
      out(fmt::format("answer is  {}\n", v.answer_tree));
    }
    out(fmt::format("work       {} units\n", v.work));
  }
  out(fmt::format("because    {}\nscore      {}\n", r.why, r.score));
  return Exit::ok;
}

}  // namespace

void add_reward(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("reward", "score a file of answers, or explain one verdict");
  command->require_subcommand(1);
  const auto args = std::make_shared<Args>();
  auto* test = command->add_subcommand("test", "score every row of a JSON lines file");
  test->add_option("FILE", args->file,
                   "rows {\"gold\", \"completion\"} and, if known, \"expect\": true or false")
      ->required();
  test->add_option("--reward", args->reward, "a registered reward")->type_name("NAME");
  test->add_option("--against", args->against, "other rewards: print where they disagree")
      ->type_name("NAME");
  test->add_option("--answer-line-for", args->line_id,
                   "rows whose id holds this text are scored by math_answer_line")
      ->type_name("TEXT");
  test->add_flag("--all", args->all, "print every verdict");
  test->callback([&chosen, args] { chosen.run = [args] { return test_file(*args); }; });
  auto* why =
      command->add_subcommand("explain", "what was extracted, how it was read, which rule decided");
  why->add_option("--gold", args->gold, "the gold answer")->required();
  why->add_option("--completion", args->completion, "the completion")->required();
  why->add_option("--reward", args->reward, "a registered reward")->type_name("NAME");
  why->callback([&chosen, args] { chosen.run = [args] { return explain(*args); }; });
}

}  // namespace minirl::cli
