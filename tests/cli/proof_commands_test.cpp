// verify parity, gradcheck and the event files of a run, through the binary.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/run_binary.h"

namespace minirl {
namespace {

using cli_test::Folder;
using cli_test::tiny_run;
using Json = nlohmann::json;

std::vector<std::string> tiny(std::vector<std::string> args) {
  for (const char* s : {"model.hidden_size=32", "model.num_layers=1", "model.num_heads=2",
                        "model.num_kv_heads=1", "model.head_dim=16", "model.ffn_size=32",
                        "rollout.max_new_tokens=40", "rollout.group_size=4"}) {
    args.insert(args.end(), {"--set", s});
  }
  return args;
}

std::vector<std::string> event_files(const Folder& dir) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path / "runs/qwen3")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("events.out.tfevents.")) {
      out.push_back(name);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("cli: verify parity and gradcheck prove a configuration and a run, as text and as JSON") {
  const Folder dir;
  const auto parity = dir.run(tiny({"verify", "parity", "--tokens", "2000"}));
  CHECK_MESSAGE(parity.code == 0, parity.err);
  CHECK(parity.out.find("equal to the bit") != std::string::npos);
  const auto grad = dir.run(tiny({"gradcheck", "--coordinates", "2"}));
  CHECK_MESSAGE(grad.code == 0, grad.err);
  CHECK(grad.out.find("every gradient agrees") != std::string::npos);
  CHECK(grad.out.find("coin flips") != std::string::npos);

  REQUIRE(dir.run(tiny_run({"--set", "audit.metric_aliases=verl"})).code == 0);
  const auto run =
      dir.run({"verify", "parity", "--model", "runs/qwen3", "--tokens", "100", "--json"});
  CHECK_MESSAGE(run.code == 0, run.err);
  const auto doc = Json::parse(run.out);
  CHECK(doc["differing"] == 0);
  CHECK(doc["compared"].get<int>() >= 100);
  CHECK(doc["axes"].size() == 10);
  const auto json = dir.run({"gradcheck", "--model", "runs/qwen3", "--coordinates", "1",
                             "--completions", "3", "--max-new-tokens", "4", "--json"});
  CHECK_MESSAGE(json.code == 0, json.err);
  CHECK(Json::parse(json.out)["passed"].get<bool>());

  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"verify", "parity", "--tokens", "0"},
                                             {"verify", "parity", "--model", "nowhere"},
                                             {"verify", "parity", "--config", "nowhere.toml"},
                                             {"gradcheck", "--coordinates", "0"},
                                             {"gradcheck", "--set", "algorithm.name=nothing"}}) {
    const auto r = dir.run(bad);
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
  }

  // The run left event files and aliases; metrics.jsonl has both names.
  CHECK(event_files(dir).size() == 1);
  const std::string metrics = dir.read("runs/qwen3/metrics.jsonl");
  CHECK(metrics.find("\"actor/pg_loss\"") != std::string::npos);
  CHECK(metrics.find("\"audit/logp_ulp_max\": 0") != std::string::npos);
  REQUIRE(dir.run(tiny_run({"--overwrite", "--set", "runtime.tensorboard=false"})).code == 0);
  CHECK(event_files(dir).empty());
}

}  // namespace minirl
