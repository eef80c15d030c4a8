// minirl bench through the binary: what it says, in every form, and what it refuses. Nothing here looks at a time.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/run_binary.h"

namespace minirl {
namespace {

using cli_test::Folder;
using Json = nlohmann::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One layer, five repetitions of the smallest shapes.
const std::vector<std::string> kShort = {
    "--set", "model.hidden_size=32", "--set", "model.num_layers=1", "--set", "model.num_heads=2",
    "--set", "model.num_kv_heads=1", "--set", "model.head_dim=16", "--set", "model.ffn_size=32",
    "--set", "rollout.prompts_per_step=4", "--set", "rollout.group_size=2",
    "--set", "rollout.max_new_tokens=40", "--seconds", "0", "--sequences", "2", "--length", "8",
    "--new-tokens", "4", "--batch", "1", "--batch", "3", "--steps", "2"};

std::vector<std::string> bench(std::vector<std::string> more) {
  std::vector<std::string> out = {"bench"};
  out.insert(out.end(), kShort.begin(), kShort.end());
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace

TEST_CASE("cli: bench says every speed as text, JSON and a page, and leaves nothing behind") {
  const Folder dir;
  const auto text = dir.run(bench({}));
  CHECK_MESSAGE(text.code == 0, text.err);
  for (const char* part : {"train, 2 x 8 tokens", "sample, batch 1, 4 new tokens", "sample, batch 3", "step of a run", "of fma"}) {
    CHECK(contains(text.out, part));
  }
  const auto json = dir.run(bench({"--json", "--growth", "--audit-cost", "--html", "speed.html"}));
  CHECK_MESSAGE(json.code == 0, json.err);
  const Json report = Json::parse(json.out);
  CHECK(report["rows"].size() == 3);
  for (const Json& row : report["rows"]) {
    CHECK(row["tokens_per_s"]["low"].get<double>() <= row["tokens_per_s"]["median"].get<double>());
    CHECK(row["tokens_per_s"]["median"].get<double>() <= row["tokens_per_s"]["high"].get<double>());
    CHECK(row["tokens_per_s"]["low"].get<double>() > 0);
    CHECK(row["gflop_per_s"].get<double>() > 0);
  }
  CHECK(report["step"]["completions"] == 8);
  CHECK(report["step"]["steps"] == 2);
  CHECK(report["step"].contains("watched_share"));
  CHECK(report["growth"].size() == 4);
  const std::string page = dir.read("speed.html");
  CHECK(contains(page, "<svg"));
  CHECK_FALSE(contains(page, "src=\"http"));
  CHECK_FALSE(dir.has("runs"));
}

TEST_CASE("cli: bench takes a published shape, and refuses what says nothing about it") {
  const Folder dir;
  const auto preset = dir.run({"bench", "--model", "qwen3-tiny", "--seconds", "0", "--sequences", "1", "--length", "4", "--new-tokens", "2", "--batch", "1", "--json"});
  CHECK_MESSAGE(preset.code == 0, preset.err);
  CHECK(Json::parse(preset.out)["subject"] == "qwen3-tiny with random weights");
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
           {"bench", "--model", "qwen3-tiny", "--set", "run.seed=2"},
           {"bench", "--model", "nowhere"},
           {"bench", "--batch", "0"},
           {"bench", "--seconds", "-1"}}) {
    const auto r = dir.run(bad);
    CHECK(r.code == 2);
    CHECK(contains(r.err, "minirl: error:"));
    CHECK(r.out.empty());
  }
}

}  // namespace minirl
