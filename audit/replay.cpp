#include "audit/replay.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <memory>
#include <tuple>

#include <nlohmann/json.hpp>

#include "audit/bundle.h"
#include "core/files.h"
#include "rl/ledger.h"
#include "rl/ledger_hash.h"
#include "rl/run_dir.h"
#include "rl/token_trail.h"
#include "rl/trainer.h"

namespace minirl::audit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Keeps the hashes of every step and, of one step, the trail of one token.
class Collector final : public rl::Observer {
 public:
  Collector(const rl::Config& config, const ReplayOptions& options, Index step)
      : config_(config), options_(options), step_(step) {}

  std::vector<rl::LedgerStep> steps;
  std::vector<std::string> token_lines;

  void tokenizer(const data::Tokenizer& tokenizer) override { tokenizer_ = &tokenizer; }
  bool wants_ledger() const override { return true; }
  void ledger(const rl::LedgerStep& step) override { steps.push_back(step); }
  void sequence(Index step, Index update, const rl::TrainItem& item,
                const rl::SequenceOutcome& outcome) override {
    if (step != step_ || !options_.token) {
      return;
    }
    const Index part = config_.completions_per_step() / config_.train.updates_per_rollout;
    const Index index = update * part + static_cast<Index>(outcome.index);
    if (index != options_.token->first) {
      return;
    }
    const Index size = config_.rollout.group_size;
    const std::string lines = rl::trail_lines({step, update, index, index / size, index % size},
                                              item, outcome, config_.algorithm.name, *tokenizer_);
    // One line a token, the prompt first.
    const Index wanted = static_cast<Index>(item.group->prompt.size()) + options_.token->second;
    std::size_t begin = 0;
    for (Index i = 0; begin < lines.size(); ++i) {
      const auto end = lines.find('\n', begin);
      if (i == wanted) {
        token_lines.push_back(lines.substr(begin, end - begin));
      }
      begin = end + 1;
    }
  }
  void note(const std::string& message) override {
    if (options_.note) {
      options_.note(message);
    }
  }
  void phase(rl::Phase, Index, Index) override {}
  void step(const rl::StepRecord& record) override {
    note(fmt::format("{} made again in {:.2f} s", rl::step_words(record.phase, record.step),
                     record.seconds));
  }
  void rollouts(Index, std::span<const rl::Group>) override {}
  void evaluation(Index, const rl::EvalResult&) override {}
  bool has_evaluation(Index) override { return true; }
  void checkpoint(const fs::path&) override {}

 private:
  const rl::Config& config_;
  const ReplayOptions& options_;
  Index step_;
  const data::Tokenizer* tokenizer_ = nullptr;
};

// In the order in which a step makes them.
void compare(ReplayReport& report, const rl::LedgerLine& recorded, const rl::LedgerStep& computed) {
  const rl::LedgerStep& want = recorded.values;
  const auto part = [&](const std::string& name, const std::string& a, const std::string& b) {
    report.parts.push_back({want.phase == rl::Phase::train ? want.step : 0, name, a, b});
    if (a != b && report.first_difference.empty()) {
      report.first_difference = fmt::format(
          "{}: the first difference is in the {}: ledger.jsonl line {} says {}..., this machine "
          "computes {}...",
          rl::step_words(want.phase, want.step), name, recorded.number, a.substr(0, 16),
          b.substr(0, 16));
    }
  };
  part("examples", want.examples, computed.examples);
  if (want.phase == rl::Phase::train) {
    part("rollouts", want.rollouts, computed.rollouts);
    part("rewards", want.rewards, computed.rewards);
    part("advantages", want.advantages, computed.advantages);
  }
  for (std::size_t u = 0; u < std::max(want.gradients.size(), computed.gradients.size()); ++u) {
    const auto at = [u](const std::vector<std::string>& v) {
      return u < v.size() ? v[u] : "(none)";
    };
    part(fmt::format("gradients of update {}", u + 1), at(want.gradients), at(computed.gradients));
  }
  part("optimizer", want.optimizer, computed.optimizer);
  part("weights", want.weights, computed.weights);
}

// The state that the replay begins with, against its own line.
void compare_start(ReplayReport& report, const std::vector<rl::LedgerLine>& lines,
                   const rl::LedgerStart& start) {
  for (const rl::LedgerLine& line : lines) {
    if (line.values.phase != start.phase || line.values.step != start.step) {
      continue;
    }
    for (const auto& [name, a, b] :
         {std::tuple("weights", &line.values.weights, &start.weights),
          std::tuple("moments of the optimizer", &line.values.optimizer, &start.optimizer)}) {
      if (*a != *b && report.first_difference.empty()) {
        report.first_difference = fmt::format(
            "{}: the {} of {} are not those of ledger.jsonl line {} ({}..., recorded {}...)",
            rl::step_words(start.phase, start.step), name, report.origin, line.number,
            b->substr(0, 16), a->substr(0, 16));
      }
    }
    return;
  }
}

void compare_builds(ReplayReport& report, const rl::LedgerLine& line) {
  if (line.build != rl::hash_build(build_info())) {
    report.notes.push_back(
        fmt::format("the step was made by another build of minirl ({}..., this one is {}...)",
                    line.build.substr(0, 16), rl::hash_build(build_info()).substr(0, 16)));
  }
}

ReplayReport replay_folder(const fs::path& root, const BundleInfo* bundle,
                           const ReplayOptions& options) {
  const Index step = bundle != nullptr ? bundle->step : options.step;
  if (step < 1) {
    fail(Exit::usage, "no step was named", "--step N; steps are counted from 1");
  }
  const std::vector<rl::LedgerLine> lines = rl::read_ledger(root / "ledger.jsonl");
  ReplayReport report;
  report.step = step;
  report.notes = rl::check_chain(lines);
  const rl::LedgerLine* line = rl::find_step(lines, rl::Phase::train, step);
  if (line == nullptr) {
    fail(Exit::usage, fmt::format("ledger.jsonl has no line for step {}", step),
         "the run has not come so far, or the line is lost");
  }
  rl::LoadedConfig loaded =
      rl::load_config({ConfigSource::file((root / "config.resolved.toml").string())});
  if (loaded.results_hash() != line->config) {
    fail(Exit::mismatch, fmt::format("ledger.jsonl line {} (step {}) was made with the "
                                     "configuration {}..., config.resolved.toml is {}...",
                                     line->number, step, line->config.substr(0, 16),
                                     loaded.results_hash().substr(0, 16)));
  }
  compare_builds(report, *line);

  const rl::Found found = rl::newest_checkpoint(root / "checkpoints", step - 1);
  for (const std::string& why : found.skipped) {
    report.notes.push_back("skipped " + why);
  }
  // The folder alone: the model and the tokenizer that the run began with may be gone.
  if (!found.directory.empty()) {
    if (loaded.config.model.tokenizer != "bytes") {
      loaded.config.model.tokenizer =
          loaded.config.model.tokenizer.empty() && loaded.config.model.checkpoint.empty() ? "bytes"
                                                                                          : "";
    }
    loaded.config.model.checkpoint = found.directory.string();
  }
  std::unique_ptr<data::Task> task;
  if (bundle != nullptr) {
    task = bundled_task(root);
    if (fs::exists(root / "reference")) {
      loaded.config.algorithm.kl_reference = (root / "reference").string();
    }
  }
  Collector collector(loaded.config, options, step);
  rl::Trainer trainer(loaded, root / "checkpoints", collector, options.interrupted,
                      std::move(task));
  report.origin = "the beginning";
  if (!found.directory.empty()) {
    trainer.restore(found.directory);
    report.origin = "checkpoint " + found.directory.filename().string();
  }
  compare_start(report, lines, trainer.state_hashes());
  std::unique_ptr<BundleDraft> draft;
  while (trainer.progress().phase != rl::Phase::train || trainer.progress().step < step) {
    if (options.interrupted && options.interrupted() != 0) {
      fail(options.interrupted() == SIGTERM ? Exit::terminated : Exit::interrupted,
           "the replay was stopped by a signal");
    }
    // The first train step of a replay from the beginning comes right after the last pretraining
    // step.
    const bool last_pretraining = trainer.progress().phase == rl::Phase::pretrain &&
                                  trainer.progress().step == loaded.config.pretrain.steps;
    const Index done = trainer.progress().phase == rl::Phase::train ? trainer.progress().step
                       : last_pretraining                           ? 0
                                                                    : -1;
    if (done == step - 1 && !options.bundle.empty()) {
      draft = std::make_unique<BundleDraft>(root, trainer);
    }
    const Index examples =
        trainer.progress().phase == rl::Phase::train ? trainer.progress().examples : 0;
    trainer.advance();
    const rl::LedgerStep& made = collector.steps.back();
    const rl::LedgerLine* recorded = rl::find_step(lines, made.phase, made.step);
    if (recorded == nullptr) {
      report.notes.push_back(
          fmt::format("{} has no line in the ledger", rl::step_words(made.phase, made.step)));
    } else {
      compare(report, *recorded, made);
    }
    if (draft != nullptr) {
      draft->add_examples(trainer, examples);
    }
  }
  if (options.token && collector.token_lines.empty()) {
    fail(Exit::usage,
         fmt::format("step {} has no token {},{}", step, options.token->first,
                     options.token->second),
         "--token I,T: line I of the step's rollout file and token T of the completion, both "
         "counted from 0");
  }
  report.token = collector.token_lines;
  if (draft != nullptr && report.first_difference.empty()) {
    draft->write(options.bundle, step);
  }
  return report;
}

}  // namespace

ReplayReport replay(const fs::path& source, const ReplayOptions& options) {
  std::error_code error;
  if (fs::is_directory(source, error)) {
    if (!rl::is_run(source)) {
      fail(Exit::usage, fmt::format("'{}' is not a run of minirl", source.string()),
           "name the folder that holds config.resolved.toml and env.json");
    }
    return replay_folder(source, nullptr, options);
  }
  const OpenBundle bundle(source);
  if (options.step != 0 && options.step != bundle.info().step) {
    fail(Exit::usage,
         fmt::format("'{}' is about step {}, not step {}", source.string(), bundle.info().step,
                     options.step),
         "leave out --step");
  }
  return replay_folder(bundle.root(), &bundle.info(), options);
}

std::string replay_text(const ReplayReport& r) {
  std::string out = fmt::format("step {}, made again from {}\n", r.step, r.origin);
  std::size_t before = 0;
  std::size_t before_same = 0;
  for (const auto& p : r.parts) {
    if (p.step != r.step) {
      ++before;
      before_same += p.same() ? 1 : 0;
    }
  }
  if (before > 0) {
    out += fmt::format("  steps before: {} of {} hashes agree\n", before_same, before);
  }
  for (const auto& p : r.parts) {
    if (p.step == r.step) {
      out += fmt::format("  {:<24} {}  {}\n", p.name, p.computed.substr(0, 16),
                         p.same() ? "agrees" : "DIFFERS from " + p.recorded.substr(0, 16));
    }
  }
  for (const std::string& note : r.notes) {
    out += fmt::format("  note: {}\n", note);
  }
  for (const std::string& line : r.token) {
    const Json json = Json::parse(line);
    out += "\n";
    for (const auto& [key, value] : json.items()) {
      if (value.is_array()) {
        for (const Json& item : value) {
          out += fmt::format("  {:<12} {}\n", key,
                             item.is_string() ? item.get<std::string>() : item.dump());
        }
      } else {
        out += fmt::format("  {:<12} {}\n", key, value.dump());
      }
    }
  }
  return out;
}

std::string replay_json(const ReplayReport& r) {
  Json parts = Json::array();
  for (const auto& p : r.parts) {
    parts.push_back({{"step", p.step},
                     {"part", p.name},
                     {"recorded", p.recorded},
                     {"computed", p.computed},
                     {"same", p.same()}});
  }
  Json token = Json::array();
  for (const std::string& line : r.token) {
    token.push_back(Json::parse(line));
  }
  const Json doc = {{"format", 1},    {"step", r.step},   {"origin", r.origin},
                    {"parts", parts}, {"notes", r.notes}, {"first_difference", r.first_difference},
                    {"token", token}};
  return doc.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::pair<Index, Index> parse_token_place(const std::string& text) {
  const auto comma = text.find(',');
  const auto whole = [&](std::string_view part) {
    Index value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size() || value < 0) {
      fail(Exit::usage, fmt::format("--token '{}' is not two whole numbers", text),
           "--token I,T, e.g. --token 12,3");
    }
    return value;
  };
  if (comma == std::string::npos) {
    whole("");
  }
  const Index sequence = whole(std::string_view(text).substr(0, comma));
  const Index position = whole(std::string_view(text).substr(comma + 1));
  return {sequence, position};
}

}  // namespace minirl::audit
