// Golden bits: loss, reward and weights of a few steps of the default run, shrunk. A commit either keeps them
// or says that it changes the numerics. To write them anew: MINIRL_UPDATE_GOLDEN=1 test_contracts -tc="contracts/golden*"
#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/embedded.h"
#include "core/files.h"
#include "core/hash.h"
#include "rl/trainer.h"

using namespace minirl;
using namespace minirl::rl;

namespace {

std::string bits(double x) { return fmt::format("{:016x} {:.9g}", std::bit_cast<std::uint64_t>(x), x); }

class Recorder final : public Observer {
 public:
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  void phase(Phase, Index, Index) override {}
  void step(const StepRecord& record) override {
    nlohmann::ordered_json line = {{"phase", record.phase == Phase::pretrain ? "pretrain" : "train"}, {"step", record.step}};
    for (const char* key : {"pretrain/loss", "pretrain/grad_norm", "reward/mean", "train/loss", "train/grad_norm", "policy/entropy", "policy/approx_kl", "policy/ratio_max"}) {
      if (const Metric* m = record.find(key)) { line[key] = bits(m->value); }
    }
    lines.push_back(line);
  }
  void rollouts(Index, std::span<const Group>) override {}
  void evaluation(Index step, const EvalResult& result) override { lines.push_back({{"phase", "eval"}, {"step", step}, {"avg", bits(result.average.value)}, {"lower", bits(result.average.lower)}}); }
  bool has_evaluation(Index) override { return false; }
  void checkpoint(const std::filesystem::path&) override {}
  void note(const std::string&) override {}
};

nlohmann::ordered_json smoke_run(int threads, Index tokens_per_micro) {
  std::string toml;
  for (const auto& file : cli::embedded_files()) {
    if (file.name == "qwen3.toml") { toml = file.text; }
  }
  std::vector<ConfigSource> sources = {ConfigSource::text("qwen3.toml", toml)};
  for (const char* set : {"pretrain.steps=6", "pretrain.warmup_steps=2", "pretrain.batch_sequences=24", "train.steps=3", "train.warmup_steps=0", "rollout.prompts_per_step=8",
                          "rollout.group_size=4", "eval.prompts=4", "eval.samples=2", "eval.every=0", "checkpoint.every=0", "checkpoint.pretrain_every=0"}) {
    sources.push_back(ConfigSource::set(set));
  }
  sources.push_back(ConfigSource::set(fmt::format("runtime.threads={}", threads)));
  sources.push_back(ConfigSource::set(fmt::format("train.tokens_per_micro={}", tokens_per_micro)));
  const LoadedConfig loaded = load_config(sources);
  char folder[] = "/tmp/minirl_golden_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  Recorder recorder;
  Trainer trainer(loaded, folder, recorder);
  trainer.run();
  recorder.lines.push_back({{"weights", trainer.model().params().hash()}});
  std::filesystem::remove_all(folder);
  return recorder.lines;
}

}  // namespace

TEST_CASE("contracts/golden: a few steps of the default run have the committed bits, whatever runs them") {
  const std::filesystem::path path = std::filesystem::path(MINIRL_SOURCE_DIR) / "tests/golden/smoke_steps.json";
  const auto got = smoke_run(2, 4096);
  if (std::getenv("MINIRL_UPDATE_GOLDEN") != nullptr) { write_file_atomic(path, got.dump(1) + "\n"); }
  const auto golden = nlohmann::ordered_json::parse(read_file(path));
  REQUIRE(golden.size() == got.size());
  for (std::size_t i = 0; i < golden.size(); ++i) { CHECK(got[i].dump() == golden[i].dump()); }
  const Isa before = active_isa();
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) { continue; }
    set_isa(isa);
    for (const int threads : {1, 2, 3}) {
      for (const Index tokens : {512, 4096}) {
        CAPTURE(name(isa));
        CAPTURE(threads);
        CAPTURE(tokens);
        CHECK(sha256_hex(smoke_run(threads, tokens).dump()) == sha256_hex(golden.dump()));
      }
    }
  }
  set_isa(before);
}
