#include "audit/step_speed.h"

#include "core/stopwatch.h"
#include "core/ulp.h"
#include "rl/loss_config.h"
#include "rl/run_log.h"
#include "rl/tripwires.h"

namespace minirl::audit {
namespace {

namespace fs = std::filesystem;

/// Does nothing, or times the checks of a step by making them once more.
class Silent final : public rl::Observer {
 public:
  explicit Silent(const rl::Config& config) : config_(config) {}
  void time_checks() { timing_ = true; }
  double check_seconds() const { return check_seconds_; }

  void sequence(Index, Index update, const rl::TrainItem& item,
                const rl::SequenceOutcome& outcome) override {
    if (!timing_) {
      return;
    }
    const std::vector<float> zeros(outcome.tokens.size(), 0.0F);
    const std::span<const float> logp = item.rollout->logp;
    const Stopwatch watch;
    rl::tripwire::finite_logp(logp, "log pi");
    if (update == 0) {
      rl::tripwire::first_update_ratio(item, logp);
    }
    std::uint32_t largest = 0;
    for (std::size_t t = 0; t < logp.size(); ++t) {
      largest = std::max(largest, ulp_distance(logp[t], item.rollout->logp[t]));
    }
    MINIRL_CHECK(largest == 0, "a number is {} ulp from itself", largest);
    if (config_.algorithm.kl_coef == 0) {  // results have every term added; the check is of the loss alone
      rl::tripwire::masked_gradient(outcome.tokens, outcome.results);
    }
    rl::tripwire::stop_token(item, outcome.tokens, {});
    rl::tripwire::masked_seeds(item, outcome.tokens, zeros, {});
    for (const rl::TokenResult& r : outcome.results) {
      shares_.add(outcome.token_weight * r.loss);
    }
    check_seconds_ += watch.seconds();
  }
  void rollouts(Index, std::span<const rl::Group> groups) override {
    if (timing_) {
      const Stopwatch watch;
      rl::tripwire::group_advantages(groups, rl::advantage_options(config_));
      check_seconds_ += watch.seconds();
    }
  }
  void phase(rl::Phase, Index, Index) override {}
  void step(const rl::StepRecord&) override {}
  void evaluation(Index, const rl::EvalResult&) override {}
  bool has_evaluation(Index) override { return true; }
  void checkpoint(const fs::path&) override {}
  void note(const std::string&) override {}

 private:
  const rl::Config& config_;
  bool timing_ = false;
  double check_seconds_ = 0;
  rl::tripwire::LossShares shares_;
};

/// The observer of `minirl train`, with the step's record kept.
class Watched final : public rl::Observer {
 public:
  Watched(rl::RunLog& log, rl::StepRecord& last) : log_(log), last_(last) {}
  void phase(rl::Phase phase, Index done, Index total) override { log_.phase(phase, done, total); }
  void step(const rl::StepRecord& record) override { last_ = record, log_.step(record); }
  void rollouts(Index step, std::span<const rl::Group> groups) override {
    log_.rollouts(step, groups);
  }
  void sequence(Index step, Index update, const rl::TrainItem& item,
                const rl::SequenceOutcome& outcome) override {
    log_.sequence(step, update, item, outcome);
  }
  void tokenizer(const data::Tokenizer& tokenizer) override { log_.tokenizer(tokenizer); }
  bool wants_ledger() const override { return log_.wants_ledger(); }
  void start(const rl::LedgerStart& start) override { log_.start(start); }
  void ledger(const rl::LedgerStep& step) override { log_.ledger(step); }
  void evaluation(Index, const rl::EvalResult&) override {}
  bool has_evaluation(Index) override { return true; }
  void checkpoint(const fs::path&) override {}
  void note(const std::string&) override {}

 private:
  rl::RunLog& log_;
  rl::StepRecord& last_;
};

struct Removed {  // a folder, with this object
  fs::path folder;
  ~Removed() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
};

double seconds_of(rl::Trainer& trainer) {
  const Stopwatch watch;
  trainer.advance();
  return watch.seconds();
}

}  // namespace

StepSpeed measure_steps(const rl::LoadedConfig& loaded, const ConfigSource& source,
                        const fs::path& scratch, const StepOptions& options) {
  const rl::Config& config = loaded.config;
  const auto stop = [&] {
    if (options.interrupted && options.interrupted()) {
      throw Error(Exit::interrupted, "the measurement was interrupted");
    }
    return 0;
  };
  // Declared in this order: files close before their folder goes.
  const Removed removed{scratch};
  rl::RunDir dir(loaded, source, {"minirl", "bench"}, rl::RunDir::Open::fresh);
  rl::RunLog log(dir, loaded, rl::make_exec(config.runtime).threads);
  rl::StepRecord last;
  Watched watched(log, last);
  rl::Trainer trainer(loaded, dir.checkpoints(), watched);
  if (watched.wants_ledger()) {
    watched.start(trainer.state_hashes());
  }
  Silent silent(config);
  std::unique_ptr<rl::Trainer> twin;
  if (options.silent_too) {
    twin = std::make_unique<rl::Trainer>(loaded, dir.root() / "twin", silent);
  }

  StepSpeed out;
  std::vector<double> with, without, share, sampled, trained;
  for (Index i = 0; i <= options.steps; ++i) {
    stop();
    // In turns, so that neither always comes second.
    double quiet = twin && i % 2 == 0 ? seconds_of(*twin) : 0;
    const double full = seconds_of(trainer);
    quiet += twin && i % 2 == 1 ? seconds_of(*twin) : 0;
    if (i == 0) {
      continue;  // buffers and caches fill
    }
    with.push_back(full);
    sampled.push_back(last.find("perf/sample_tokens_per_s")->value);
    trained.push_back(last.find("perf/train_tokens_per_s")->value);
    if (twin) {
      without.push_back(quiet);
      share.push_back((full - quiet) / full);
    }
  }
  if (twin) {
    silent.time_checks();
    twin->advance();
    out.tripwire_seconds = silent.check_seconds();
    out.silent_seconds = spread_of(without);
    out.watched_share = spread_of(share);
  }
  out.steps = options.steps;
  out.seconds = spread_of(with);
  out.sample_tokens_per_s = spread_of(sampled).median;
  out.train_tokens_per_s = spread_of(trained).median;
  out.completions = config.completions_per_step();
  out.updates = config.train.updates_per_rollout;
  return out;
}

}  // namespace minirl::audit
