// tests/rl/trainer_support.h -- small whole runs in memory: a config, an observer that remembers.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/temporary.h"
#include "rl/trainer.h"

namespace minirl::rl::test {

/// Remembers everything that it is told.
struct Witness : Observer {
  bool hash = false;  // are ledger lines wanted?
  LedgerStart begin;
  std::vector<LedgerStep> hashes;
  std::vector<StepRecord> steps;
  std::vector<std::vector<Group>> groups;
  struct Seen {
    Index step, update;
    std::vector<TokenInput> tokens;
    std::vector<TokenResult> results;
  };
  std::vector<Seen> sequences;
  bool wants_ledger() const override { return hash; }
  void start(const LedgerStart& s) override { begin = s; }
  void ledger(const LedgerStep& s) override { hashes.push_back(s); }
  void phase(Phase, Index, Index) override {}
  void step(const StepRecord& record) override { steps.push_back(record); }
  void rollouts(Index, std::span<const Group> g) override { groups.emplace_back(g.begin(), g.end()); }
  void evaluation(Index, const EvalResult&) override {}
  bool has_evaluation(Index) override { return true; }  // none is made
  void checkpoint(const std::filesystem::path&) override {}
  void note(const std::string&) override {}
  void sequence(Index step, Index update, const TrainItem&, const SequenceOutcome& o) override {
    sequences.push_back({step, update, {o.tokens.begin(), o.tokens.end()}, {o.results.begin(), o.results.end()}});
  }
  double metric(std::size_t step, const std::string& key) const {
    const Metric* m = steps.at(step).find(key);
    REQUIRE_MESSAGE(m != nullptr, key);
    return m->value;
  }
  bool has(std::size_t step, const std::string& key) const { return steps.at(step).find(key) != nullptr; }
};

/// Random weights earn no reward, but they end at different lengths: the soft rule for long completions
/// makes rewards that differ within groups.
inline LoadedConfig config(const std::vector<std::string>& sets) {
  std::vector<ConfigSource> sources = {ConfigSource::text("test.toml", R"(
[model]
hidden_size = 16
num_layers = 1
num_heads = 2
num_kv_heads = 1
head_dim = 8
ffn_size = 24
max_positions = 128
initializer_range = 0.5
[pretrain]
steps = 0
[rollout]
prompts_per_step = 4
group_size = 8
max_new_tokens = 100
[train]
steps = 3
updates_per_rollout = 2
lr = 3e-3
lr_schedule = "constant"
[algorithm]
name = "pg_is"
[reward]
truncated_reward = "soft"
soft_buffer_tokens = 99
[eval]
every = 0
prompts = 4
[runtime]
threads = 2
)")};
  for (const std::string& s : sets) { sources.push_back(ConfigSource::set(s)); }
  return load_config(sources);
}

struct Outcome {
  Witness witness;
  std::string weights;
};

inline Outcome train(const std::vector<std::string>& sets) {
  const minirl::test::TemporaryDirectory folder;
  Outcome out;
  const LoadedConfig loaded = config(sets);
  Trainer trainer(loaded, folder.path() / "checkpoints", out.witness);
  trainer.run();
  out.weights = trainer.model().params().hash();
  return out;
}

inline std::vector<std::string> with(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace minirl::rl::test
