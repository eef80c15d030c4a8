#include "audit/experiment.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/hash.h"
#include "model/pretrained.h"
#include "rl/run_dir.h"
#include "rl/run_log.h"
#include "rl/summary.h"
#include "rl/trainer.h"

namespace minirl::audit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kDone = "experiment.json";  // in a run's folder: it is finished; written last

struct TokenCount {
  double seen = 0, masked = 0, mu = 0, pi = 0, entropy = 0;
};
using TokenCounts = std::map<Token, TokenCount>;  // of one sign

// The log of a run that also counts masked tokens.
class Witness final : public rl::Observer {
 public:
  Witness(rl::RunLog& log, bool count) : log_(log), count_(count) {}
  void phase(rl::Phase phase, Index done, Index total) override { log_.phase(phase, done, total); }
  void step(const rl::StepRecord& record) override { log_.step(record); }
  void tokenizer(const data::Tokenizer& tokenizer) override { log_.tokenizer(tokenizer); }
  bool wants_ledger() const override { return log_.wants_ledger(); }
  void start(const rl::LedgerStart& start) override { log_.start(start); }
  void ledger(const rl::LedgerStep& step) override { log_.ledger(step); }
  void rollouts(Index step, std::span<const rl::Group> groups) override { log_.rollouts(step, groups); }
  void evaluation(Index step, const rl::EvalResult& result) override { log_.evaluation(step, result); }
  bool has_evaluation(Index step) override { return log_.has_evaluation(step); }
  void checkpoint(const fs::path& directory) override { log_.checkpoint(directory); }
  void note(const std::string& message) override { log_.note(message); }
  void sequence(Index step, Index update, const rl::TrainItem& item, const rl::SequenceOutcome& o) override {
    log_.sequence(step, update, item, o);
    if (!count_) { return; }
    for (std::size_t t = 0; t < o.tokens.size(); ++t) {
      const rl::TokenInput& token = o.tokens[t];
      if (!token.active || token.advantage == 0) { continue; }
      TokenCount& c = (token.advantage > 0 ? positive_ : negative_)[item.rollout->ids[t]];
      c.seen += 1;
      if (o.results[t].masked()) {
        c.masked += 1;
        c.mu += token.rollout.p;
        c.pi += token.pi;
        c.entropy += o.entropy.empty() ? 0 : static_cast<double>(o.entropy[t]);
      }
    }
  }
  Json json() const { return {{"positive", side(positive_)}, {"negative", side(negative_)}}; }

 private:
  static Json side(const TokenCounts& counts) {
    Json out = Json::array();
    for (const auto& [id, c] : counts) {
      if (c.masked > 0) { out.push_back({{"id", id}, {"seen", c.seen}, {"masked", c.masked}, {"mu", c.mu}, {"pi", c.pi}, {"entropy", c.entropy}}); }
    }
    return out;
  }
  rl::RunLog& log_;
  bool count_;
  TokenCounts positive_, negative_;
};

rl::LoadedConfig load(const ConfigSource& base, const std::vector<std::string>& sets) {
  std::vector<ConfigSource> sources = {base};
  for (const std::string& s : sets) { sources.push_back(ConfigSource::set(s)); }
  return rl::load_config(sources);
}

// One training, unless its result is there already. A diverged run ends with a reason, not with an error.
std::string train(const rl::LoadedConfig& loaded, const ConfigSource& source, bool count, const ExperimentOptions& options) {
  const fs::path folder = fs::path(loaded.config.run.dir) / loaded.config.run.name;
  const std::string hash = loaded.results_hash();
  if (fs::exists(folder / kDone)) {
    const Json done = Json::parse(read_file(folder / kDone), nullptr, false);
    if (done.is_object() && done.value("results_hash", "") == hash && (!count || done.contains("masked_tokens"))) { return done.value("failure", ""); }
  }
  rl::RunDir dir(loaded, source, {"minirl", "reproduce"}, fs::exists(folder) ? rl::RunDir::Open::overwrite : rl::RunDir::Open::fresh);
  const Exec exec = rl::make_exec(loaded.config.runtime);
  rl::RunLog log(dir, loaded, exec.threads);
  Witness witness(log, count);
  rl::Trainer trainer(loaded, dir.checkpoints(), witness, options.interrupted);
  std::string failure;
  try {
    trainer.run();
  } catch (const Error& e) {
    if (e.code() != Exit::invariant) { throw; }
    failure = e.what();
  }
  log.write_report();
  Json done = {{"format", 1}, {"results_hash", hash}, {"weights_hash", trainer.model().params().hash()}, {"failure", failure}};
  if (count) { done["masked_tokens"] = witness.json(); }
  write_file_atomic(folder / kDone, done.dump(2) + "\n");
  return failure;
}

std::vector<Json> train_rows(const fs::path& run) {
  std::vector<Json> out;
  const std::string content = read_file(run / "metrics.jsonl");
  for (std::size_t begin = 0; begin < content.size();) {
    const auto end = std::min(content.find('\n', begin), content.size());
    Json row = Json::parse(content.begin() + static_cast<std::ptrdiff_t>(begin), content.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    begin = end + 1;
    if (row.is_object() && row.value("kind", "") == "train") { out.push_back(std::move(row)); }
  }
  return out;
}

double value_of(const Json& row, const std::string& key) { return row.contains(key) && row[key].is_number() ? row[key].get<double>() : std::nan(""); }

double mean_of(const std::vector<double>& v, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) { sum += v[i]; }
  return end > begin ? sum / static_cast<double>(end - begin) : std::nan("");
}

std::vector<double> curve(const std::vector<Json>& rows, const std::string& key) {
  std::vector<double> out;
  for (const Json& row : rows) { out.push_back(value_of(row, key)); }
  return out;
}

// A run that stopped early stays where it stopped: its missing steps count as reward 0.
void add_outcomes(ArmResult& arm, const std::vector<Json>& rows, const fs::path& run, Index steps) {
  std::vector<double> reward = curve(rows, "reward/mean");
  reward.resize(static_cast<std::size_t>(steps), 0.0);
  const auto n = reward.size();
  const std::size_t quarter = n - std::max<std::size_t>(1, n / 4);
  const std::size_t window = std::max<std::size_t>(1, n / 10);
  double best = -HUGE_VAL;
  for (std::size_t i = 0; i + window <= n; ++i) { best = std::max(best, mean_of(reward, i, i + window)); }
  const double last = mean_of(reward, quarter, n);
  const auto late = [&](const std::string& key) {
    const std::vector<double> v = curve(rows, key);
    return v.empty() ? std::nan("") : mean_of(v, v.size() - std::max<std::size_t>(1, v.size() / 4), v.size());
  };
  const auto evaluations = rl::read_evaluations(run);
  arm.outcomes["final_reward"].push_back(last);
  arm.outcomes["best_reward"].push_back(best);
  arm.outcomes["drop"].push_back(best - last);
  arm.outcomes["area"].push_back(mean_of(reward, 0, n));
  arm.outcomes["final_eval"].push_back(evaluations.empty() || static_cast<Index>(rows.size()) < steps ? 0 : evaluations.back().average.value);
  arm.outcomes["entropy"].push_back(late("policy/entropy"));
  arm.outcomes["prob_absdiff"].push_back(late("policy/prob_absdiff_mean"));
  arm.outcomes["masked"].push_back(late("policy/masked_fraction"));
  arm.outcomes["bad_updates"].push_back(late("policy/bad_update_fraction"));
  arm.outcomes["grad_norm"].push_back(late("train/grad_norm"));
}

void add_masked(MaskedTokens& out, const fs::path& run, const data::Tokenizer& tokenizer) {
  const Json doc = Json::parse(read_file(run / kDone), nullptr, false);
  if (!doc.is_object() || !doc.contains("masked_tokens")) { return; }
  for (const auto& [key, side] : {std::pair("positive", &out.positive), std::pair("negative", &out.negative)}) {
    for (const Json& row : doc["masked_tokens"][key]) {
      const Token id = row["id"].get<Token>();
      const std::string text = rl::visible(tokenizer.decode(std::span(&id, 1)));
      auto found = std::find_if(side->begin(), side->end(), [&](const MaskedToken& m) { return m.text == text; });
      if (found == side->end()) { found = side->insert(side->end(), MaskedToken{text}); }
      found->count += row["masked"].get<double>();
      found->seen += row["seen"].get<double>();
      found->mu += row["mu"].get<double>();
      found->pi += row["pi"].get<double>();
      found->entropy += row["entropy"].get<double>();
    }
  }
}

void finish_masked(std::vector<MaskedToken>& side) {
  for (MaskedToken& m : side) {
    m.mu /= m.count;
    m.pi /= m.count;
    m.entropy /= m.count;
  }
  std::stable_sort(side.begin(), side.end(), [](const MaskedToken& a, const MaskedToken& b) { return a.count > b.count; });
}

}  // namespace

std::vector<std::string> outcome_names() {
  return {"final_reward", "best_reward", "drop", "final_eval", "area", "entropy", "prob_absdiff", "masked", "bad_updates", "grad_norm"};
}

std::vector<ClaimResult> judge(const Experiment& experiment, const std::vector<ArmResult>& arms) {
  const auto values = [&](const std::string& name, const std::string& metric) -> const std::vector<double>& {
    for (const ArmResult& a : arms) {
      if (a.arm.name == name) { return a.outcomes.at(metric); }
    }
    fail(Exit::runtime, fmt::format("no arm '{}'", name));
  };
  std::vector<ClaimResult> out;
  for (const Claim& claim : experiment.claims) {
    ClaimResult r;
    r.claim = claim;
    const auto& worse = values(claim.worse, claim.metric);
    const auto& better = values(claim.better, claim.metric);
    if (better.size() > 1) {
      r.difference = rl::paired_difference(worse, better);
      r.verdict = r.difference.lower > 0 ? ClaimResult::Verdict::agrees : r.difference.upper < 0 ? ClaimResult::Verdict::disagrees : ClaimResult::Verdict::undecided;
    } else {
      r.difference.value = better[0] - worse[0];
      r.difference.lower = -HUGE_VAL;
      r.difference.upper = HUGE_VAL;
    }
    out.push_back(std::move(r));
  }
  return out;
}

ExperimentResult run_experiment(const Experiment& e, const ExperimentOptions& options) {
  ExperimentResult result;
  result.experiment = e;
  if (!options.seeds.empty()) { result.experiment.seeds = options.seeds; }
  const ConfigSource base = options.find_config(e.base);
  const fs::path runs = options.out / "runs";
  const auto place = [&](std::vector<std::string> sets, const std::string& name) {
    sets.push_back("run.dir=" + to_toml(runs.string()));
    rl::LoadedConfig loaded = load(base, sets);
    // Experiments that ask for the same run share it.
    const std::string unique = fmt::format("{}-{}", name, loaded.results_hash().substr(0, 10));
    sets.push_back("run.name=" + to_toml(unique));
    return load(base, sets);
  };
  std::vector<std::string> common = e.sets;
  common.insert(common.end(), options.sets.begin(), options.sets.end());

  // Mistakes are told before anything is trained.
  for (std::size_t i = 0; i < result.experiment.seeds.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (result.experiment.seeds[i] == result.experiment.seeds[j]) { fail(Exit::usage, fmt::format("seed {} is given twice", result.experiment.seeds[i]), "the same run again is no evidence"); }
    }
  }
  for (const Arm& arm : e.arms) {
    std::vector<std::string> sets = common;
    sets.insert(sets.end(), arm.sets.begin(), arm.sets.end());
    for (const std::string& s : sets) {
      for (const char* ours : {"run.name", "run.dir", "run.seed", "model.checkpoint"}) {
        if (s.rfind(std::string(ours) + "=", 0) == 0) { fail(Exit::usage, fmt::format("arm '{}' of {}: {} is chosen by the experiment", arm.name, e.name, ours)); }
      }
    }
    try {
      load(base, sets);
    } catch (const Error& error) {
      fail(error.code(), fmt::format("arm '{}' of {}: {}", arm.name, e.name, error.what()));
    }
  }

  // One base model for all arms and seeds: what differs afterwards is the reinforcement alone.
  std::vector<std::string> base_sets = common;
  base_sets.insert(base_sets.end(), {"train.steps=0", "run.seed=1", "algorithm.name=pg_is"});
  const rl::LoadedConfig base_config = place(base_sets, "base");
  options.say("base model");
  const std::string no_base = train(base_config, base, false, options);
  if (!no_base.empty()) { fail(Exit::invariant, "the base model could not be made: " + no_base); }
  const fs::path start = fs::path(base_config.config.run.dir) / base_config.config.run.name / "checkpoints" / "step-000000";

  const std::size_t total = e.arms.size() * result.experiment.seeds.size();
  std::size_t at = 0;
  std::unique_ptr<data::Tokenizer> tokenizer = data::byte_tokenizer();
  for (const Arm& arm : e.arms) {
    ArmResult& r = result.arms.emplace_back();
    r.arm = arm;
    for (const Index seed : result.experiment.seeds) {
      std::vector<std::string> sets = common;
      sets.insert(sets.end(), arm.sets.begin(), arm.sets.end());
      sets.push_back("model.checkpoint=" + to_toml(start.string()));
      sets.insert(sets.end(), {"pretrain.steps=0", "pretrain.warmup_steps=0", fmt::format("run.seed={}", seed)});
      const rl::LoadedConfig loaded = place(sets, arm.name + fmt::format("-s{}", seed));
      options.say(fmt::format("{}/{}  {}, seed {}", ++at, total, arm.label, seed));
      r.failures.push_back(train(loaded, base, e.masked_tokens, options));
      const fs::path run = fs::path(loaded.config.run.dir) / loaded.config.run.name;
      r.runs.push_back(run);
      const auto rows = train_rows(run);
      add_outcomes(r, rows, run, loaded.config.train.steps);
      for (const std::string& key : e.curves) { r.curves[key].push_back(curve(rows, key)); }
      if (e.masked_tokens) { add_masked(result.masked[arm.name], run, *tokenizer); }
    }
  }
  for (auto& [name, masked] : result.masked) {
    finish_masked(masked.positive);
    finish_masked(masked.negative);
  }
  result.claims = judge(result.experiment, result.arms);
  return result;
}

}  // namespace minirl::audit
