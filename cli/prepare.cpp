// minirl prepare: published data sets as train.jsonl and eval.jsonl.
#include "data/prepare.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/files.h"
#include "rl/reward.h"

namespace minirl::cli {
namespace {

struct Args {
  std::string name, out, reward = "math";
  std::vector<std::string> inputs, eval_inputs;
  Index eval_count = 0;
  bool has_eval_count = false, skip_bad_rows = false;
};

Exit prepare(const Args& args) {
  const rl::RewardInfo& reward = rl::Rewards::find("reward", args.reward);
  if (reward.of_form) {
    fail(Exit::usage, fmt::format("the reward '{}' reads no gold answer", args.reward),
         "name the reward that the run will use for answers, such as math");
  }
  data::PrepareOptions options;
  options.name = args.name;
  options.inputs.assign(args.inputs.begin(), args.inputs.end());
  options.eval_inputs.assign(args.eval_inputs.begin(), args.eval_inputs.end());
  options.eval_count = args.has_eval_count ? args.eval_count : args.name == "aime" ? -1 : 256;
  options.skip_bad_rows = args.skip_bad_rows;
  options.gold_fault = [&reward](const std::string& gold) { return reward.check_gold(gold); };
  if (args.has_eval_count && !args.eval_inputs.empty()) {
    fail(Exit::usage, "--eval-count and --eval-in contradict each other",
         "held-out problems come from files of their own, or from the others");
  }
  const data::Prepared done = data::prepare(options);
  if (done.train.empty() && done.eval.empty()) {
    fail(Exit::data, "no problem is left",
         done.rows == 0 ? "the files are empty" : "all rows were dropped");
  }
  const std::filesystem::path out(args.out);
  make_directory(out, Exit::usage);
  nlohmann::ordered_json report = {
      {"data_set", args.name},    {"inputs", args.inputs},   {"eval_inputs", args.eval_inputs},
      {"reward", args.reward},    {"rows", done.rows},       {"train", done.train.size()},
      {"eval", done.eval.size()}, {"dropped", done.dropped}, {"changed", done.changed}};
  // The report comes last: where it is, the files are.
  for (const auto& [name, rows] :
       {std::pair("train.jsonl", &done.train), std::pair("eval.jsonl", &done.eval)}) {
    if (!rows->empty()) {
      write_file_atomic(out / name, data::to_jsonl(*rows));
    } else if (std::filesystem::exists(out / name)) {
      fail(Exit::usage,
           fmt::format("there is no problem for '{}', but a file of an earlier call",
                       (out / name).string()),
           "remove it, or choose another --out");
    }
  }
  write_file_atomic(out / "report.json", report.dump(2) + "\n");
  std::string text = fmt::format("{} rows read\n", done.rows);
  for (const auto& [reason, rows] : done.dropped) {
    text += fmt::format("  dropped {:>9}  {}\n", rows, reason);
  }
  for (const auto& [what, rows] : done.changed) {
    text += fmt::format("  changed {:>9}  {}\n", rows, what);
  }
  text += fmt::format(
      "  written {:>9}  {}\n", done.train.size(),
      done.train.empty() ? "training problems: all are held out" : (out / "train.jsonl").string());
  text += fmt::format("  written {:>9}  {}\n", done.eval.size(),
                      done.eval.empty() ? "held-out problems" : (out / "eval.jsonl").string());
  std::fputs(text.c_str(), stdout);
  return Exit::ok;
}

}  // namespace

void add_prepare(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "prepare", "published data sets (JSONL or parquet) as train.jsonl and eval.jsonl");
  const auto args = std::make_shared<Args>();
  command->add_option("DATASET", args->name, "aime, dapo-math, gsm8k or math")->required();
  command->add_option("IN", args->inputs, "files of the data set")->required();
  command->add_option("--out", args->out, "folder for train.jsonl, eval.jsonl and report.json")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--eval-in", args->eval_inputs,
                   "held-out problems from files of their own, e.g. the test split")
      ->type_name("FILE");
  auto* count = command
                    ->add_option("--eval-count", args->eval_count,
                                 "hold out so many problems of IN; -1: all. Default: all of aime, "
                                 "256 of the others")
                    ->check(CLI::Range(-1, 1 << 30));
  command->add_option("--reward", args->reward, "drop problems whose gold answer it cannot read")
      ->capture_default_str();
  command->add_flag("--skip-bad-rows", args->skip_bad_rows,
                    "count rows that cannot be used instead of stopping at the first");
  command->callback([&chosen, args, count] {
    args->has_eval_count = count->count() > 0;
    chosen.run = [args] { return prepare(*args); };
  });
}

}  // namespace minirl::cli
