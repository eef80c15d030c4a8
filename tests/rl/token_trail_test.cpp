// The trail of tokens: complete, true to what was trained, and its sum is the loss.
#include "rl/token_trail.h"

#include <doctest/doctest.h>

#include <bit>
#include <map>
#include <nlohmann/json.hpp>

#include "rl/trainer_support.h"

namespace minirl::rl {
namespace {

using namespace test;
using minirl::test::TemporaryDirectory;
using Json = nlohmann::json;

/// A run that writes its trail.
struct Trailing final : Witness {
  Trailing(const Config& config, const std::filesystem::path& folder) : trail(config, folder) {}
  TokenTrail trail;
  void tokenizer(const data::Tokenizer& t) override { trail.set_tokenizer(t); }
  void sequence(Index step, Index update, const TrainItem& item, const SequenceOutcome& o) override {
    Witness::sequence(step, update, item, o);
    trail.sequence(step, update, item, o);
  }
  void step(const StepRecord& record) override {
    Witness::step(record);
    trail.finish(record.step, record.find("train/loss")->value);
  }
};

struct Trails {
  TemporaryDirectory folder;
  LoadedConfig loaded;
  std::unique_ptr<Trailing> run;
  explicit Trails(const std::vector<std::string>& sets) : loaded(config(sets)) {
    run = std::make_unique<Trailing>(loaded.config, folder.path() / "tokens");
    Trainer trainer(loaded, folder.path() / "checkpoints", *run);
    trainer.run();
  }
  std::filesystem::path file(Index step) const { return folder.path() / "tokens" / fmt::format("step-{:06}.jsonl.zst", step); }
  std::vector<Json> rows(Index step) const {
    std::vector<Json> out;
    const std::string text = data::read_zstd_file(file(step));
    for (std::size_t begin = 0; begin < text.size();) {
      const auto end = text.find('\n', begin);
      out.push_back(Json::parse(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    return out;
  }
};

}  // namespace

TEST_CASE("rl/token_trail: the rows of a full trail add up to the logged loss, to the bit") {
  const Trails t({"audit.trail=all", "algorithm.name=dppo_tv", "algorithm.delta=0.001", "train.lr=1e-2", "algorithm.kl_coef=0.01", "algorithm.entropy_coef=0.01"});
  Index masked = 0;
  for (Index step = 1; step <= 3; ++step) {
    std::map<int, double> sums;
    std::size_t completions = 0;
    for (const Json& row : t.rows(step)) {
      if (row.at("part") == "prompt") {
        CHECK(row.at("masks") == Json::array({"prompt"}));
        continue;
      }
      ++completions;
      sums[row.at("update").get<int>()] += row.at("share").get<double>();
      CHECK(row.at("share").get<double>() == row.at("c").get<double>() * row.at("loss").get<double>());
      for (const auto& why : row.at("why")) {
        if (why.get<std::string>().find("dppo_tv: masked: A ") == 0) { ++masked; }
      }
    }
    double loss = 0;
    for (const auto& [update, sum] : sums) { loss += sum / 2; }
    const double logged = t.run->metric(static_cast<std::size_t>(step - 1), "train/loss");
    CHECK(std::bit_cast<std::uint64_t>(loss) == std::bit_cast<std::uint64_t>(logged));
    std::size_t tokens = 0;
    for (const Group& g : t.run->groups[static_cast<std::size_t>(step - 1)]) {
      for (const Rollout& r : g.rollouts) { tokens += r.ids.size(); }
    }
    CHECK(completions == tokens);
  }
  CHECK(masked > 0);
}

TEST_CASE("rl/token_trail: rows are what the rollouts and the loss say") {
  const Trails t({"audit.trail=all", "algorithm.mask_truncated=true", "rollout.max_new_tokens=60", "reward.soft_buffer_tokens=59"});
  std::map<Index, std::vector<Json>> completion;
  for (const Json& row : t.rows(2)) {
    if (row.at("part") == "completion") { completion[row.at("sequence").get<Index>()].push_back(row); }
  }
  const auto& groups = t.run->groups[1];
  REQUIRE(completion.size() == 32);
  bool truncated = false;
  for (const auto& [sequence, rows] : completion) {
    const Rollout& r = groups.at(static_cast<std::size_t>(sequence / 8)).rollouts.at(static_cast<std::size_t>(sequence % 8));
    REQUIRE(rows.size() == r.ids.size());
    CHECK(rows[0].at("group") == sequence / 8);
    CHECK(rows[0].at("sample") == sequence % 8);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      CHECK(rows[k].at("id") == r.ids[k]);
      CHECK(static_cast<float>(rows[k].at("log_mu").get<double>()) == r.logp[k]);
      if (rows[k].at("update") == 0) { CHECK(rows[k].at("ratio") == 1); }
      if (!r.stopped) {
        truncated = true;
        CHECK(rows[k].at("why")[0].get<std::string>().find("truncated: ") == 0);
        CHECK(rows[k].at("g") == 0);
        CHECK(rows[k].at("share") == 0);
      }
    }
  }
  CHECK(truncated);
}

TEST_CASE("rl/token_trail: a group without differences is named as such") {
  const Trails t({"audit.trail=all", "reward.truncated_reward=zero"});  // every reward is 0
  for (const Json& row : t.rows(1)) {
    if (row.at("part") == "completion") { CHECK(row.at("why")[0].get<std::string>().find("zero-variance group") == 0); }
  }
}

TEST_CASE("rl/token_trail: a sample holds so many sequences of so many steps, the same every time") {
  const std::vector<std::string> sets = {"audit.trail=sample", "audit.trail_sequences=3", "audit.trail_every=2"};
  const Trails a(sets), b(with(sets, {"runtime.threads=1", "train.tokens_per_micro=130"}));
  CHECK(std::filesystem::exists(a.file(1)));
  CHECK_FALSE(std::filesystem::exists(a.file(2)));
  for (const Index step : {1, 3}) {
    CHECK(read_file(a.file(step)) == read_file(b.file(step)));
    std::set<Index> seen;
    for (const Json& row : a.rows(step)) { seen.insert(row.at("sequence").get<Index>()); }
    CHECK(seen == trail_sample(1, step, 32, 3));
    CHECK(seen.size() == 3);
  }
  CHECK(trail_sample(1, 1, 32, 3) != trail_sample(1, 3, 32, 3));
  CHECK(trail_sample(1, 1, 4, 9).size() == 4);
  const Trails none({"audit.trail=none"});
  CHECK_FALSE(std::filesystem::exists(none.folder.path() / "tokens"));
}

}  // namespace minirl::rl
