// explain, losslab and reproduce through the binary, as a user types them.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/run_binary.h"

namespace minirl {
namespace {

using cli_test::Folder;
using cli_test::tiny_run;
using Json = nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::string> kTiny = {"--set", "model.hidden_size=32", "--set", "model.num_layers=1", "--set", "model.num_heads=2", "--set", "model.num_kv_heads=1", "--set", "model.head_dim=16", "--set", "model.ffn_size=32"};

std::vector<std::string> with(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("cli: explain says what a loss does to a token, and lists the losses alone") {
  const Folder dir;
  const auto list = dir.run({"explain"});
  CHECK(list.code == 0);
  for (const char* name : {"drpo", "dppo_topk_kl", "gspo", "mini_rl_tis", "reinforce_pp"}) { CHECK(contains(list.out, name)); }
  const auto one = dir.run({"explain", "drpo", "--token", "mu=0.3,pi=0.5,A=1", "delta=0.2"});
  CHECK_MESSAGE(one.code == 0, one.err);
  CHECK(contains(one.out, "exactly on the boundary"));
  const auto json = dir.run({"explain", "dppo_tv", "--json", "--token", "mu=0.3,pi=0.5,A=1"});
  CHECK(Json::parse(json.out)["tokens"][0]["result"]["masked"].get<bool>());
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{{"explain", "dropo", "--token", "mu=0.3,pi=0.5,A=1"},
                                                                                  {"explain", "drpo", "--token", "mu=0.3,pi=0.5,A=1"},
                                                                                  {"explain", "drpo", "delta=0.2"},
                                                                                  {"explain", "drpo", "--token", "mu=0.3,pi=0.5,A=1", "delta=-1"},
                                                                                  {"explain", "drpo", "--token", "mu=0.3,pi=0.5,A=1", "delta"},
                                                                                  {"explain", "drpo", "--token", "mu=0.3,pi=0.5,A=1", "delta=0.2", "delta=0.3"},
                                                                                  {"explain", "drpo", "--token", "mu=0.3,pi=0.5,A=1", "delta=0.2", "delta2=1"},
                                                                                  {"explain", "drpo", "--topk", "0.1:0.1", "delta=0.2"}}) {
    const auto r = dir.run(bad);
    CHECK(r.code == 2);
    CHECK(contains(r.err, "minirl: error:"));
    CHECK(r.out.empty());
  }
}

TEST_CASE("cli: losslab works on a config and on a run, and writes its three files") {
  const Folder dir;
  const auto made = dir.run(with({"losslab", "qwen3", "--prompts", "2", "--out", "lab"}, kTiny));
  CHECK_MESSAGE(made.code == 0, made.err);
  CHECK(contains(made.out, "coin flips"));
  for (const char* name : {"lab/losslab.html", "lab/losslab.csv", "lab/losslab.json"}) { CHECK(dir.has(name)); }
  CHECK(dir.run(with({"losslab", "qwen3", "--prompts", "2", "--json"}, kTiny)).out == dir.read("lab/losslab.json"));  // the same bits again
  REQUIRE(dir.run(tiny_run()).code == 0);
  const auto run = dir.run({"losslab", "runs/qwen3", "--prompts", "2", "--loss", "ppo", "--loss", "drpo:delta=0.1", "--json"});
  CHECK_MESSAGE(run.code == 0, run.err);
  CHECK(Json::parse(run.out)["losses"].size() == 2);
  CHECK(dir.run({"losslab", "nothing"}).code == 2);
  CHECK(dir.run({"losslab", "qwen3", "--loss", "drpo"}).code == 2);
  CHECK(dir.run({"losslab", "qwen3", "--loss", "ppo:clip_low"}).code == 2);
  CHECK(dir.run({"losslab", "qwen3", "--prompts", "0"}).code == 2);
}

TEST_CASE("cli: reproduce lists, computes, keeps what is finished, and refuses what it does not know") {
  const Folder dir;
  const auto list = dir.run({"reproduce"});
  for (const char* name : {"rq1", "rq2", "rq3", "relaxed-clip", "delta", "clipped-tokens", "bounds", "binary-blind"}) { CHECK(contains(list.out, name)); }
  CHECK(dir.run({"reproduce", "binary-blind"}).code == 0);
  CHECK(dir.has("reproduce/binary-blind.md"));
  const auto unknown = dir.run({"reproduce", "rq4"});
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "rq"));
  dir.write("mine.toml", R"(title = "t"
question = "q"
setup = "s"
base = "qwen3.toml"
seeds = [1, 2]
masked_tokens = true
set = ["model.hidden_size=32", "model.num_layers=1", "model.num_heads=2", "model.num_kv_heads=1", "model.head_dim=16", "model.ffn_size=32", "pretrain.steps=4", "pretrain.warmup_steps=1",
  "pretrain.batch_sequences=4", "rollout.prompts_per_step=4", "rollout.group_size=4", "train.steps=2", "eval.prompts=4", "eval.samples=2"]
curves = ["reward/mean"]
[[arm]]
name = "a"
label = "first"
set = ["algorithm.name=ppo"]
[[arm]]
name = "b"
label = "second"
set = ["algorithm.name=drpo_tv"]
[[claim]]
text = "c"
source = "s"
metric = "final_reward"
better = "b"
worse = "a"
)");
  const auto first = dir.run({"reproduce", "mine.toml"});
  CHECK_MESSAGE(first.code == 0, first.err);
  CHECK(contains(first.out, "undecided"));
  CHECK(dir.has("reproduce/mine.html"));
  const std::string page = dir.read("reproduce/mine.md");
  const auto again = dir.run({"reproduce", "mine.toml"});
  CHECK(again.code == 0);
  CHECK(dir.read("reproduce/mine.md") == page);
  dir.write("bad.toml", "title = 3\n");
  const auto bad = dir.run({"reproduce", "bad.toml"});
  CHECK(bad.code == 2);
  CHECK(contains(bad.err, "bad.toml:1"));
}

}  // namespace minirl
